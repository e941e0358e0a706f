"""`fluidkv threshold`: stable keys, 80 columns, one line for bad input."""

import pytest

from fluidkv.cli import main
from tests.cli.answered import answer_in, answer_of

ARGV = ["threshold", "5", "9", "--share", "1/2"]


def run_text(capsys, argv) -> str:
    assert main(argv) == 0
    return capsys.readouterr().out


def test_json_of_five_and_nine(capsys):
    answer = answer_of(capsys, *ARGV)
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


def test_share_belongs_to_the_first_length_in_the_order_given(capsys):
    one = answer_of(capsys, *["threshold", "8", "3", "--share", "0.7"])
    assert one["l0_min"] == 67
    assert (one["decode_lengths"], one["shares_exact"]) == ([3, 8], ["3/10", "7/10"])
    assert one == answer_of(capsys, *["threshold", "3", "8", "--share", "3/10"])
    assert one == answer_of(capsys, *["threshold", "3", "8", "--share", "0.3", "--share", "7/10"])


def test_shares_left_out_are_equal_and_said_to_be(capsys):
    three = ["threshold", "3", "4", "5"]
    thirds = ["--share", "1/3", "--share", "1/3"]
    assert answer_of(capsys, *three) == answer_of(capsys, *[*three, *thirds])
    assert "No --share is given, so shares are equal." in run_text(capsys, three)
    assert "No --share is given" not in run_text(capsys, [*three, *thirds])


def test_decimal_shares_are_exact(capsys):
    """0.1 is 1/10, where a crossing falls on 8 exactly; for the double next to it, it does not."""
    answer = answer_of(capsys, *["threshold", "1", "2", "--share", "0.1"])
    assert answer["l0_min"] == 9
    assert answer["below"]["neutral_modes"] == 1
    assert [c["input_length_exact"] for c in answer["last_crossings"]] == ["8"]


def test_ratios_follow_the_order_of_the_lengths(capsys):
    wide = ["--ratio", "50", "--ratio", "1"]
    answer = answer_of(capsys, *["threshold", "3", "2", "--share", "1/2", *wide])
    assert (answer["decode_lengths"], answer["input_ratios"]) == ([2, 3], [1, 50])
    assert answer["l0_min"] == 2
    assert answer["below"]["neutral_modes"] == 2
    assert answer_of(capsys, *[*ARGV, "--ratio", "1", "--ratio", "1"]) == answer_of(capsys, *ARGV)


def test_three_tiers(capsys):
    argv = ["threshold", "127", "255", "509", "--share", "1/3", "--share", "1/3"]
    assert answer_of(capsys, *argv)["l0_min"] == 2_559_457


def test_a_bound_below_the_threshold_is_a_status(capsys):
    answer = answer_of(capsys, *[*ARGV, "--bound", "64"])
    assert (answer["l0_min"], answer["status"], answer["bound"]) == (None, "beyond_bound", 64)
    assert answer["windows"][-1]["last"] == 64
    assert answer["asymptotic"]["phases_relative_error"] is None
    assert answer_of(capsys, *[*ARGV, "--bound", "65"])["l0_min"] == 65
    assert "none up to the bound, l0 = 64; there is one beyond" in run_text(
        capsys, [*ARGV, "--bound", "64"]
    )
    assert "from l0 = 65 to the bound, 70" in run_text(capsys, [*ARGV, "--bound", "70"])


def test_lengths_with_a_common_divisor_have_none(capsys):
    argv = ["threshold", "2", "4", "--share", "1/2"]
    answer = answer_of(capsys, *argv)
    assert (answer["l0_min"], answer["status"], answer["asymptotic"]) == (None, "none", None)
    assert "none: unstable at every l0; the lengths share the divisor 2" in run_text(capsys, argv)


def test_stable_everywhere_has_nothing_below(capsys):
    argv = ["threshold", "1", "2", "--share", "9/10"]
    answer = answer_of(capsys, *argv)
    assert (answer["l0_min"], answer["below"], answer["last_crossings"]) == (0, None, [])
    assert "stable from l0 = 0 tokens of input on" in run_text(capsys, argv)


def test_an_island_of_stability_is_said(capsys):
    argv = ["threshold", "2", "5", "--share", "99/100", "--ratio", "1/10", "--ratio", "100"]
    answer = answer_of(capsys, *argv)
    assert [(w["first"], w["last"]) for w in answer["stable_windows"]] == [(1, 1), (4, None)]
    out = run_text(capsys, argv)
    assert "stable at L = 1, then not" in out
    assert "2 to 3                  2 modes grow" in out
    assert "too high" not in out
    wide = ["threshold", "1", "6", "--share", "9/10", "--ratio", "1/100", "--ratio", "1"]
    assert "stable from L = 0 to 1, then not" in run_text(capsys, wide)


def test_text_of_five_and_nine(capsys):
    out = run_text(capsys, ARGV)
    assert "stable from l0 = 65 tokens of input on" in out
    assert "at 64: 2 modes grow" in out
    assert "period 4.66 iterations, at l0 = 64.433" in out
    assert "65: exact, 64: exact" in out
    assert "6.9% too high" in out


@pytest.mark.parametrize(
    "argv",
    [
        ARGV,
        ["threshold", "2", "4", "--share", "1/2"],
        ["threshold", "1", "2", "--share", "0.1"],
        ["threshold", "3", "4", "5", "7", "11", *["--share", "0.123456789"] * 4],
        ["threshold", "2", "3", "--share", "1/2", "--ratio", "1e15", "--ratio", "1/700000"],
        ["threshold", "127", "255", "509", *["--share", "1/3"] * 2],
        [*ARGV, "--bound", "9"],
        [*ARGV, "--bound", "1000000000000000000"],
        ["threshold", "499", "500", "--share", "1/2"],
    ],
)
def test_text_fits_80_columns(argv, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # nothing is wrapped or cut to make it fit
    out = run_text(capsys, argv)
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 80
    assert "threshold" in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["threshold", "5", "5", "--share", "1/2"], "LENGTH: got '5 twice'"),
        (["threshold", "5", "--share", "1/2"], "LENGTH: got [5]; allowed: at least two"),
        (["threshold", "0", "5", "--share", "1/2"], "LENGTH: got '0'"),
        (["threshold", "5", "2.5", "--share", "1/2"], "LENGTH: got '2.5'"),
        (
            ["threshold", "5", "1000000", "--share", "1/2"],
            "LENGTH: got '1000000'; allowed: a whole",
        ),
        ([*ARGV, *ARGV[3:], *ARGV[3:]], "--share: got '1/2 1/2 1/2'; allowed: one for each"),
        ([*ARGV[:4], "0"], "--share: got '0'"),
        ([*ARGV[:4], "1"], "--share: got '1'"),
        ([*ARGV[:4], "-1/2"], "--share: got '-1/2'"),
        ([*ARGV[:4], "nan"], "--share: got 'nan'"),
        ([*ARGV[:4], "half"], "--share: got 'half'"),
        ([*ARGV, "--share", "1/3"], "--share: got 'sum 5/6'"),
        (["threshold", "2", "3", "4", *ARGV[3:], *ARGV[3:]], "--share: got '1/2 1/2'; allowed: a"),
        ([*ARGV, "--ratio", "1"], "--ratio: got '1 ratios'"),
        ([*ARGV, "--ratio", "0", "--ratio", "1"], "--ratio: got '0'"),
        ([*ARGV, "--ratio", "x", "--ratio", "1"], "--ratio: got 'x'"),
        ([*ARGV, "--bound", "-3"], "--bound: got '-3'"),
        ([*ARGV, "--bound", "1.5"], "--bound: got '1.5'"),
    ],
)
def test_bad_input_gets_one_line(argv, message, capsys):
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"fluidkv: {message}")
    assert captured.err.count("\n") == 1


def test_counts_left_open_by_themselves_are_answered_by_the_crossings(capsys):
    argv = ["threshold", "499", "500", "--share", "1/2"]  # roots within 1e-15 of the circle
    answer, out = answer_of(capsys, *argv), run_text(capsys, argv)
    below = answer["l0_min"] - 1
    assert answer["windows"][-2]["last"] == below
    if answer["below"]["growing_modes"] is None:
        assert answer["below"]["evidence"] is None
        assert f"{below:,}: by the crossings" in out
    assert f"at {below:,}: 2 modes grow" in out


@pytest.mark.thorough
def test_a_first_order_from_an_unknown_gap_is_not_printed(capsys):
    # degree 4100: the radius of the limit stays in a bracket that reaches 1
    argv = ["threshold", "4100", "4101", "--share", "1/2", "--bound", "9"]
    formulas = answer_of(capsys, *argv)["asymptotic"]
    assert formulas["limit_radius"][1] >= 1
    assert formulas["first_order"] is None
    assert formulas["first_order_relative_error"] is None
    assert "not known, first-order drift" in run_text(capsys, argv)


@pytest.mark.parametrize("lengths", [["2,4"], ["2,", "4"], ["2,4,"]])
def test_lengths_may_have_commas_between_them(capsys, lengths: list[str]) -> None:
    for name, rest in (("threshold", []), ("pulse", ["--input", "50", "--capacity", "626"])):
        rest = [*rest, "--share", "1/2", "--json"]
        if lengths != ["2,4"]:
            assert main([name, *lengths, *rest]) == 2
            assert "LENGTH: got ''; allowed: a whole number" in capsys.readouterr().err
            continue
        answers = []
        for written in (lengths, ["2", "4"]):
            assert main([name, *written, *rest]) == 0
            answers.append(answer_in(capsys.readouterr().out))
        assert answers[0] == answers[1]
