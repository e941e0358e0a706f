"""What a command prints as JSON is `to_dict()` of what Python gets for the same question.

Where the command calls that very function, `tests/questions/test_contract.py` holds it.
"""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from fluidkv.answers.pulse import pulse_answer
from fluidkv.answers.records import read_files, replay_records
from fluidkv.answers.wait.load import binned_load
from fluidkv.answers.wait.study import wait_study
from fluidkv.cli import main
from fluidkv.exact.mixed.mix import LengthMix, two_lengths
from fluidkv.exact.mixed.thresholds.threshold import input_threshold
from fluidkv.exact.one_class.equilibria import equilibria
from fluidkv.traces import preset
from tests.cli.answered import answer_in
from tests.serving.records.record_copies import OURS
from tests.small_systems import one_class

HALF = Fraction(1, 2)


def _wait() -> Any:
    load = binned_load(
        preset("alpaca"), Fraction("0.00993"), Fraction("1.656e-7"), rate=Fraction(5), bins=4
    )
    return wait_study(load, 41408, simulate=False).to_dict()


ASKED: dict[str, tuple[str, Callable[[], Any]]] = {
    "pulse": (
        "2 4 --input 50 --share 1/2 --capacity 626",
        lambda: pulse_answer(two_lengths(2, 4, HALF), 50, 626).to_dict(),
    ),
    "threshold": (
        "5 9 --bound 70",
        lambda: input_threshold(LengthMix([5, 9], [HALF, HALF]), bound=70).to_dict(),
    ),
    "equilibria": (
        "--class 5:4 --capacity 1000",
        lambda: equilibria(one_class(5, 4, 1000)).to_dict(),
    ),
    "oracle": (
        str(OURS),
        lambda: {"records": [each.to_dict() for each in replay_records(read_files([str(OURS)]))]},
    ),
    "wait": (
        "--preset alpaca --rate 5 --bins 4 --clock vidur-llama3-8b-a100 --capacity 41408 "
        "--no-simulate",
        _wait,
    ),
}


@pytest.mark.parametrize("command", ASKED)
def test_json_is_the_dictionary_of_the_answer(command: str, capsys) -> None:
    argv, ask = ASKED[command]
    assert main([command, *argv.split(), "--json"]) == 0
    assert answer_in(capsys.readouterr().out) == json.loads(json.dumps(ask()))
