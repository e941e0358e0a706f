"""`fluidkv equilibria`: cycles in values and words, and what is refused."""

import pytest

from tests.cli.answered import refusal
from tests.questions.asked import text_of, values_of

LINE = "--class 5:9 --capacity 1000"


def test_one_gap_vector():
    (cycle,) = values_of("equilibria", f"{LINE} --gaps 4,1,3,1")["cycles"]
    assert cycle["gaps"] == [4, 1, 3, 1]
    assert cycle["period"] == 9
    assert (cycle["throughput"], cycle["throughput_exact"]) == (1000 / 99, "1000/99")
    assert cycle["name"] == "balanced cycle (4,1,3,1)"
    text = text_of("equilibria", f"{LINE} --gaps 1,4,1,3")
    for number in ("4,1,3,1", "1000/99", "71.4%"):  # the worst case, 5/7
        assert number in text


def test_all_and_those_of_a_level():
    every = values_of("equilibria", LINE)["cycles"]
    assert len(every) == 59
    assert all(cycle["verified"] for cycle in every)
    level = values_of("equilibria", f"{LINE} --level 7")["cycles"]
    assert level == [cycle for cycle in every if cycle["level"] == 7]


def test_long_gap_vectors_are_shown_by_their_runs():
    text = text_of("equilibria", "--class 20:34 --capacity 1000 --level 2")
    assert "\n2,15*1,2,15*1 " in text
    assert "some of 31" in text  # too many live positions for a count; unstable all the same


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{LINE} --gaps 4,5,3", "--gaps: got (4, 5, 3)"),
        (f"{LINE} --gaps 4,x", "--gaps: got 'x'; allowed: a whole number"),
        (f"{LINE} --gaps 9,0", "--gaps: got '0'"),
        (f"{LINE} --level 9", "--level: got 9"),
        (f"{LINE} --level 1,2", "--level: got '1,2'"),
        (f"{LINE} --class 2:3", "--class: got '5:9 2:3'"),
        ("--class 5:9 --capacity 14", "--capacity: got 14"),
        ("--class 5:9:1/2 --capacity 1000", "--class: got '5:9:1/2'"),
        ("--class 5:40 --capacity 1000", "equilibria: got "),
    ],
)
def test_bad_input_gets_one_line(line, message, capsys):
    assert refusal(capsys, "equilibria", *line.split()).startswith(f"fluidkv: {message}")
