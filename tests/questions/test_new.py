"""A new question is one short file: command, refusals, JSON, CSV, figure, report, sweep, docs."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from docs._site.question_keys import reference
from fluidkv.cli import main
from fluidkv.cli.app import app
from fluidkv.cli.asking import command_of
from fluidkv.sweeps import open_sweep
from fluidkv.sweeps.analyses.asked import analysis_of
from fluidkv.sweeps.analyses.named import ANALYSES
from fluidkv.sweeps.planning import plan
from fluidkv.sweeps.running import run
from tests.cli.answered import refusal
from tests.conventions import complaints
from tests.questions import waste
from tests.questions.fragmentation import wasted_share

LONGEST = 60
LINE = ["waste", "--length", "100", "--block-size", "16", "--block-size", "30"]


@pytest.fixture(autouse=True)
def declared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The question is known to the command line and to sweeps, as those that ship are."""
    commands = list(app.registered_commands)
    app.command(rich_help_panel="Your server")(command_of(waste.WASTE))
    monkeypatch.setitem(ANALYSES, "waste", analysis_of(waste.WASTE))
    yield
    app.registered_commands[:] = commands


def test_it_is_short() -> None:
    assert Path(waste.__file__).read_text(encoding="utf-8").count("\n") <= LONGEST


def test_its_answer_is_its_mathematics_in_python_and_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = waste.block_waste(100, block_sizes=[16, 30])
    expected = [wasted_share(100, size, False) for size in (16, 30)]
    assert answer.wasted.tolist() == expected
    assert main([*LINE, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["inputs"] == {"length": 100, "block_size": [16, 30], "shape": "uniform"}
    assert said["wasted"] == expected
    assert said["least"] == min(expected)
    assert complaints(answer.to_xarray()) == []


def test_its_command_says_what_is_asked_and_leaves_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["waste", "--help"]) == 0
    text = capsys.readouterr().out
    for words in ("What part of a KV pool do blocks waste?", "--length", "[required]", "--html"):
        assert words in text
    assert main([*LINE, "--out", str(tmp_path / "out"), "--html", str(tmp_path / "w.html")]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["30", f"{100 * wasted_share(100, 30, False):.2f}"] in rows
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert made >= {"waste.json", "waste.csv", "wasted.png", "wasted.svg", "wasted.csv"}
    cells = list(csv.DictReader((tmp_path / "out" / "waste.csv").read_text().splitlines()))
    assert [cell["block_size"] for cell in cells] == ["16", "30"]
    assert [float(cell["wasted"]) for cell in cells] == [
        wasted_share(100, b, False) for b in (16, 30)
    ]
    assert "A request has whole blocks of its own." in (tmp_path / "w.html").read_text()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--length", "0"], "--length: got '0'; allowed: a whole number from 1 to 1,000,000"),
        (["--length", "nan"], "--length: got 'nan'; allowed: a whole number"),
        (["--length", "9", "--shape", "uniforn"], "--shape: got 'uniforn'; allowed: near: uniform"),
        (["--length", "9", "--block-size", "x"], "--block-size: got 'x'; allowed: a whole number"),
        (["--length", "9", "--blok-size", "4"], "--blok-size: no such option; near: --block-size"),
        ([], "Missing option '--length'"),
    ],
)
def test_what_is_bad_is_one_line(
    capsys: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:
    assert refusal(capsys, "waste", *argv).startswith(f"fluidkv: {message}")


def test_a_sweep_knows_it(tmp_path: Path) -> None:
    spec = {"analysis": "waste", "settings": {"shape": "fixed"}}
    spec |= {"grid": {"length": [5, 50], "block_size": [4, 16]}}
    run(plan(spec), tmp_path / "store")
    found = open_sweep(tmp_path / "store")
    expected = [[wasted_share(length, size, True) for size in (4, 16)] for length in (5, 50)]
    np.testing.assert_array_equal(found.least, expected)
    assert complaints(found) == []


def test_its_keys_are_a_table_for_the_docs() -> None:
    assert reference(waste.Waste).splitlines()[2:] == [
        "| `length` | tokens | longest request |",
        "| `shape` | text | what lengths are like |",
        "| `least` | number | share wasted by the best size |",
        "| `block_sizes[]` | tokens | block size |",
        "| `wasted[]` | number | share of memory wasted |",
    ]
