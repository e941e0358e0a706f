"""`fluidkv threshold`: the threshold of a mix in values and words, and what is refused."""

import pytest

from tests.cli.answered import refusal
from tests.questions.asked import text_of, values_of

TWO = "5 9 --share 1/2"
HALVES = "--share 1/2 --share 1/2"


def threshold(line: str) -> dict:
    return values_of("threshold", line)


def text(line: str) -> str:
    return text_of("threshold", line)


def test_five_and_nine():
    answer = threshold(TWO)
    assert (answer["l0_min"], answer["status"]) == (65, "found")
    assert answer["l0_min_at_most"] == 65
    count = {"neutral_modes": 0, "evidence": "exact"}
    assert answer["at"] == {"input_length": 65, "growing_modes": 0, **count}
    assert answer["below"] == {"input_length": 64, "growing_modes": 2, **count}
    assert answer["stable_windows"] == [
        {"first": 65, "last": None, "growing_modes": 0, "neutral_modes": 0}
    ]
    assert [w["growing_modes"] for w in answer["windows"]] == [8, 6, 4, 2, 0]
    [last] = answer["last_crossings"]
    assert 64 < last["input_length"] < 65
    assert last["modes_outward"] == -2
    assert last in answer["crossings"]
    asymptotic = answer["asymptotic"]
    assert asymptotic["phases_relative_error"] == pytest.approx(asymptotic["phases"] / 65 - 1)
    for words in (
        "stable from l0 = 65 tokens of input on",
        "at 64: 2 modes grow",
        "period 4.66 iterations, at l0 = 64.433",
        "65: exact, 64: exact",
        "6.9% too high",
    ):
        assert words in text(TWO)


def test_share_belongs_to_the_first_length_in_the_order_given():
    answer = threshold("8 3 --share 0.7")
    assert answer["l0_min"] == 67
    assert (answer["decode_lengths"], answer["shares_exact"]) == ([3, 8], ["3/10", "7/10"])
    assert answer == threshold("3 8 --share 3/10") == threshold("3,8 --share 0.3 --share 7/10")


def test_shares_left_out_are_equal_and_said_to_be():
    thirds = "3 4 5 --share 1/3 --share 1/3"
    assert threshold("3 4 5") == threshold(thirds)
    assert "No --share is given, so shares are equal." in text("3 4 5")
    assert "No --share is given" not in text(thirds)


def test_decimal_shares_are_exact():
    """0.1 is 1/10, where a crossing falls on 8 exactly; for the double next to it, it does not."""
    answer = threshold("1 2 --share 0.1")
    assert answer["l0_min"] == 9
    assert answer["below"]["neutral_modes"] == 1
    assert [c["input_length_exact"] for c in answer["last_crossings"]] == ["8"]


def test_ratios_follow_the_order_of_the_lengths():
    answer = threshold("3 2 --share 1/2 --ratio 50 --ratio 1")
    assert (answer["decode_lengths"], answer["input_ratios"]) == ([2, 3], [1, 50])
    assert answer["l0_min"] == 2
    assert answer["below"]["neutral_modes"] == 2
    assert threshold(f"{TWO} --ratio 1 --ratio 1") == threshold(TWO)


def test_three_tiers():
    assert threshold("127 255 509 --share 1/3 --share 1/3")["l0_min"] == 2_559_457


def test_a_bound_below_the_threshold_is_a_status():
    answer = threshold(f"{TWO} --bound 64")
    assert (answer["l0_min"], answer["status"], answer["bound"]) == (None, "beyond_bound", 64)
    assert answer["windows"][-1]["last"] == 64
    assert answer["asymptotic"]["phases_relative_error"] is None
    assert threshold(f"{TWO} --bound 65")["l0_min"] == 65
    assert "none up to the bound, l0 = 64; there is one beyond" in text(f"{TWO} --bound 64")
    assert "from l0 = 65 to the bound, 70" in text(f"{TWO} --bound 70")


def test_lengths_with_a_common_divisor_have_none():
    answer = threshold("2 4 --share 1/2")
    assert (answer["l0_min"], answer["status"], answer["asymptotic"]) == (None, "none", None)
    words = "none: unstable at every l0; the lengths share the divisor 2"
    assert words in text("2 4 --share 1/2")


def test_stable_everywhere_has_nothing_below():
    answer = threshold("1 2 --share 9/10")
    assert (answer["l0_min"], answer["below"], answer["last_crossings"]) == (0, None, [])
    assert "stable from l0 = 0 tokens of input on" in text("1 2 --share 9/10")


def test_an_island_of_stability_is_said():
    line = "2 5 --share 99/100 --ratio 1/10 --ratio 100"
    windows = [(w["first"], w["last"]) for w in threshold(line)["stable_windows"]]
    assert windows == [(1, 1), (4, None)]
    assert "stable at L = 1, then not" in text(line)
    assert "2 to 3                  2 modes grow" in text(line)
    assert "too high" not in text(line)
    wide = "1 6 --share 9/10 --ratio 1/100 --ratio 1"
    assert "stable from L = 0 to 1, then not" in text(wide)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("5 5 --share 1/2", "LENGTH: got '5 twice'"),
        ("5 --share 1/2", "LENGTH: got [5]; allowed: at least two"),
        ("0 5", "LENGTH: got '0'"),
        ("5 2.5", "LENGTH: got '2.5'"),
        ("2, 4", "LENGTH: got ''; allowed: a whole number"),
        ("5 1000000", "LENGTH: got '1000000'; allowed: a whole number from 1 to 10,000"),
        (f"5 9 {HALVES} --share 1/2", "--share: got '1/2 1/2 1/2'; allowed: one for each"),
        (f"{TWO} --share 1/3", "--share: got 'sum 5/6'"),
        (f"2 3 4 {HALVES}", "--share: got '1/2 1/2'; allowed: a sum below 1"),
        ("5 9 --share 1", "--share: got '1'; allowed: a share strictly between 0 and 1"),
        (f"{TWO} --ratio 1", "--ratio: got '1 ratios'"),
    ],
)
def test_bad_input_gets_one_line(line, message, capsys):
    assert refusal(capsys, "threshold", *line.split()).startswith(f"fluidkv: {message}")


def test_counts_left_open_by_themselves_are_answered_by_the_crossings():
    line = "499 500 --share 1/2"  # roots within 1e-15 of the circle
    answer = threshold(line)
    below = answer["l0_min"] - 1
    assert answer["windows"][-2]["last"] == below
    if answer["below"]["growing_modes"] is None:
        assert answer["below"]["evidence"] is None
        assert f"{below:,}: by the crossings" in text(line)
    assert f"at {below:,}: 2 modes grow" in text(line)


def test_a_first_order_from_an_unknown_gap_is_not_printed():
    # degree 4100: the radius of the limit stays in a bracket that reaches 1
    line = "4100 4101 --share 1/2 --bound 9"
    formulas = threshold(line)["asymptotic"]
    assert formulas["limit_radius"][1] >= 1
    assert formulas["first_order"] is None
    assert formulas["first_order_relative_error"] is None
    assert "not known, first-order drift" in text(line)
