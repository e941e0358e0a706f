"""`fluidkv cascade`: the collapse of a start in both arithmetics, and what is refused."""

import re

import pytest

from tests.cli.answered import refusal
from tests.questions.asked import text_of, values_of
from tests.questions.cases import LONGER

SMALL = "--class 2:3 --capacity 24 --start 5/2,2,17/10"
ONE_MORE = f"--class 10:8 --capacity 1000 --start {LONGER}"


def cascade(line: str) -> dict:
    return values_of("cascade", line)


@pytest.mark.parametrize("arithmetic", ["--exact", "--iterations 200"])
def test_one_request_more_than_the_fixed_point(arithmetic):
    answer = cascade(f"{ONE_MORE} {arithmetic}")
    assert answer["first_eviction"] == 33
    losses = zip((33, 72, 79, 81, 87, 93, 102), range(1, 8), strict=True)
    assert answer["support_losses"] == [list(pair) for pair in losses]
    assert answer["settled"]["attractor"] == "maximal-eviction cycle"
    assert answer["settled"]["iteration"] == 102
    # The last cycle is fixed by memory alone; float64 rounds once or twice a stage on it.
    assert answer["throughput"] == pytest.approx(1000 / (8 * 18), rel=1e-14)
    assert answer["exact"] is (arithmetic == "--exact")
    text = text_of("cascade", f"{ONE_MORE} {arithmetic}")
    assert re.search(r"first eviction +iteration 33", text)
    assert re.search(r"settled +maximal-eviction cycle, from iteration 102", text)
    assert "80.6% of x* = 8.6207" in text


def test_exact_is_exact():
    answer = cascade(f"{SMALL} --exact")
    assert [e["iteration"] for e in answer["evictions"]][:4] == [7, 10, 13, 16]
    assert answer["throughput_exact"] == "8/5"
    assert answer["settled"]["iteration"] == 16
    assert answer == cascade("--class 2:3 --capacity 24 --start 2.5,2,1.7 --exact")


def test_not_settled_is_null():
    answer = cascade(f"{SMALL} --iterations 5 --exact")
    assert answer["settled"] is None
    assert answer["first_eviction"] is None
    assert answer["support_losses"] == []
    assert answer["throughput_window"] == [0, 5]
    assert "not within 5 iterations" in text_of("cascade", f"{SMALL} --iterations 5 --exact")


def test_projection_is_done_when_asked_for():
    twice = "--class 2:3 --capacity 24 --start 5,4,17/5 --project --exact"
    assert cascade(twice) == cascade(f"{SMALL} --exact")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--start 5/2,2,2", "51/2 tokens, 3/2 over capacity"),
        ("--start 5/2,2,2", "scaled by 16/17 it is 40/17,32/17,32/17 (--project does)"),
        ("--start 2,2,1", "5 short of capacity"),
        ("--start 5/2,2", "2 masses"),
        ("--start 5,2,-1/5", "-1/5 at stage 2"),
        ("--start 5/2,two,17/10", "'two'"),
        ("--start 5/2,2,17/10 --iterations 3333334", "1 to 3333333 where"),
        ("--start 5/2,2,17/10 --iterations 5001 --exact", "1 to 5000 where"),
        ("--start 0,0,0 --project", "at least one positive mass"),
        ("--start 5/2,2,17/10 --class 2:2", "one class"),
    ],
)
def test_bad_input_gets_one_line(line, words, capsys):
    argv = ["--class", "2:3", "--capacity", "24", *line.split()]
    assert words in refusal(capsys, "cascade", *argv)
