"""`fluidkv pulse`: the cycle of a pair in values and words, and what is refused."""

import pytest

from tests.cli.answered import refusal
from tests.questions.asked import text_of, values_of

REST = "--input 50 --share 1/2 --capacity 626"


def test_the_papers_pair():
    answer = values_of("pulse", f"2 4 {REST}")
    assert (answer["throughput_exact"], answer["throughput"]) == ("313/79", 313 / 79)
    assert (answer["period"], answer["common_divisor"]) == (2, 2)
    assert answer["stability"]["verdict"] == "stable"
    assert answer["stability"]["outside"] == 0
    assert answer["share_of_best_exact"] == "313/316"
    assert answer["evicting_iterations_per_period"] == 1
    assert answer["evicted_exact"] == "313/1343"
    assert answer["equilibrium_growing_modes"] == 1
    assert answer["verified"] is True


def test_share_belongs_to_the_first_length():
    answer = values_of("pulse", "4 2 --input 50 --share 0.25 --capacity 626")
    assert answer["decode_lengths"] == [2, 4]
    assert answer["shares_exact"] == ["3/4", "1/4"]
    assert answer == values_of("pulse", "2,4 --input 50 --share 3/4 --capacity 626")


def test_a_cycle_too_long_to_run_says_so():
    line = "500 1000 --input 9 --share 1/2 --capacity 5000"
    assert values_of("pulse", line)["verified"] is None
    assert "not run" in text_of("pulse", line)


def test_a_neutral_cycle_is_called_neutral():
    answer = values_of("pulse", "2 4 --input 1 --share 2/5 --capacity 60")
    assert answer["stability"]["verdict"] == "neutral"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"2 3 {REST}", "LENGTH: got '2 3'; allowed: lengths with a common"),
        (f"2 2 {REST}", "LENGTH: got '2 2'"),
        (f"2 {REST}", "LENGTH: got '2'"),
        (f"2 4 6 {REST}", "LENGTH: got '2 4 6'"),
        (f"0 4 {REST}", "LENGTH: got '0'"),
        (f"2 200000 {REST}", "LENGTH: got '200000'; allowed: a whole number from"),
        ("2 4 --input 50 --share 1/2 --capacity 54", "--capacity: got '54'; allowed: more than 54"),
    ],
)
def test_bad_input_gets_one_line(line, message, capsys):
    assert refusal(capsys, "pulse", *line.split()).startswith(f"fluidkv: {message}")
