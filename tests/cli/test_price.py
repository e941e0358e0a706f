"""`--price`: what a million output tokens cost, beside what is and what is proposed."""

from fractions import Fraction

import pytest

from fluidkv.answers.served.clock import read_clock
from fluidkv.answers.served.cost import Cost, cost_of
from tests.cli.answered import answer_of

CLOCK = ("--clock", "0.1:1e-4:2e-3")
CLASSES = ("--class", "8:10", "--class", "30:20", "--capacity", "160", "--block-size", "4")
QUICK = ("--rate", "4", "--requests", "40", "--runs", "2", "--price", "3.6")
COMMANDS = {
    "recommend": (
        "--engine",
        "vllm",
    ),
    "size": ("--slo", "ttft_p99=60s", "--within", "1/3"),
}


def test_it_is_the_price_of_a_second_over_the_tokens_of_a_second() -> None:
    assert Cost(3.6, gpus=1).per_million(50.0) == pytest.approx(20.0)
    assert Cost(3.6, gpus=4).per_million(50.0, replicas=2) == pytest.approx(160.0)
    assert Cost(3.6, gpus=1).per_million(0.0) == float("inf")


@pytest.mark.parametrize("command", COMMANDS)
def test_json_has_the_cost_of_what_is_and_what_is_proposed(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer_of(capsys, command, *CLASSES, *CLOCK, *QUICK, *COMMANDS[command])
    cost = found["cost"]
    assert (cost["per_gpu_hour"], cost["gpus"]) == (3.6, 1)
    name = {"recommend": "now", "size": "answer"}[command]
    speed = found[name]["metrics"]["output_throughput_per_time"]
    assert cost["per_million_output_tokens"][name] == pytest.approx(1000 / speed, rel=1e-9)


def test_several_gpus_of_a_replica_are_paid_for() -> None:
    cost = cost_of(Fraction(2), read_clock("--clock", "llama-3.1-70b-fp8@4xh200"))
    assert cost == Cost(2.0, gpus=4)
    assert cost_of(None, None) is None
