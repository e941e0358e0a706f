"""`fluidkv cascade`: stable keys, both arithmetics, one line for bad input."""

import re
from fractions import Fraction

import pytest

from fluidkv.cli import main
from tests.cli.answered import answer_of

EXAMPLE_3 = ["--class", "2:3", "--capacity", "24", "--start", "5/2,2,17/10"]
X = Fraction(2000, 232)
LONGER = [
    *("--class", "10:8", "--capacity", "1000", "--start"),
    ",".join(map(str, [X + 1, *[X] * 6, X - Fraction(11, 18)])),
]


@pytest.mark.parametrize("arithmetic", [["--exact"], ["--iterations", "200"]])
def test_one_request_more_than_the_fixed_point(capsys, arithmetic):
    answer = answer_of(capsys, "cascade", *LONGER, *arithmetic)
    assert answer["first_eviction"] == 33
    losses = zip((33, 72, 79, 81, 87, 93, 102), range(1, 8), strict=True)
    assert answer["support_losses"] == [list(pair) for pair in losses]
    assert answer["settled"]["attractor"] == "maximal-eviction cycle"
    assert answer["settled"]["iteration"] == 102
    # The last cycle is fixed by memory alone; float64 rounds once or twice a stage on it.
    assert answer["throughput"] == pytest.approx(1000 / (8 * 18), rel=1e-14)
    assert answer["exact"] is (arithmetic == ["--exact"])


def test_exact_is_exact(capsys):
    answer = answer_of(capsys, "cascade", *EXAMPLE_3, "--exact")
    assert [e["iteration"] for e in answer["evictions"]][:4] == [7, 10, 13, 16]
    assert answer["throughput_exact"] == "8/5"
    assert answer["settled"]["iteration"] == 16
    decimals = ["--class", "2:3", "--capacity", "24", "--start", "2.5,2,1.7", "--exact"]
    assert answer_of(capsys, "cascade", *decimals) == answer


def test_not_settled_is_null(capsys):
    answer = answer_of(capsys, "cascade", *EXAMPLE_3, "--iterations", "5", "--exact")
    assert answer["settled"] is None
    assert answer["first_eviction"] is None
    assert answer["support_losses"] == []
    assert answer["throughput_window"] == [0, 5]


@pytest.mark.parametrize("arithmetic", [["--exact"], []])
def test_the_story_fits_a_terminal(capsys, monkeypatch, arithmetic):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["cascade", *LONGER, *arithmetic]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert re.search(r"first eviction +iteration 33", shown)
    assert re.search(r"settled +maximal-eviction cycle, from iteration 102", shown)
    assert "80.6% of x* = 8.6207" in shown


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--start", "5/2,2,2"], "51/2 tokens, 3/2 over capacity"),
        (["--start", "5/2,2,2"], "scaled by 16/17 it is 40/17,32/17,32/17 (--project does)"),
        (["--start", "2,2,1"], "5 short of capacity"),
        (["--start", "5/2,2"], "2 masses"),
        (["--start", "5,2,-1/5"], "-1/5 at stage 2"),
        (["--start", "5/2,two,17/10"], "'two'"),
        (["--start", "5/2,2,17/10", "--iterations", "0"], "--iterations"),
        (["--start", "5/2,2,17/10", "--iterations", "3333334"], "1 to 3333333 where"),
        (["--start", "5/2,2,17/10", "--iterations", "1000000000000000"], "1 to 3333333 where"),
        (["--start", "5/2,2,17/10", "--iterations", "5001", "--exact"], "1 to 5000 where"),
        (["--start", "0,0,0", "--project"], "at least one positive mass"),
        (["--start", "5/2,2,17/10", "--class", "2:2"], "one class"),
        (["--start", "5/2,2,17/10", "--class", "2:2:1/2"], "one class"),
    ],
)
def test_bad_input_gets_one_line(capsys, argv, said):
    assert main(["cascade", "--class", "2:3", "--capacity", "24", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert said in captured.err


def test_projection_is_done_when_asked_for(capsys):
    base = ["--class", "2:3", "--capacity", "24", "--exact", "--start"]
    assert answer_of(capsys, "cascade", *base, "5,4,17/5", "--project") == answer_of(
        capsys, "cascade", *base, "5/2,2,17/10"
    )
