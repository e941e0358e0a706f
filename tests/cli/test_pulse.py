"""`fluidkv pulse`: stable keys, 80 columns, one line for bad input."""

import pytest

from fluidkv.cli import main
from tests.cli.answered import answer_of

ARGV = ["pulse", "2", "4", "--input", "50", "--share", "1/2", "--capacity", "626"]


def test_json_of_the_papers_pair(capsys):
    answer = answer_of(capsys, *ARGV)
    assert (answer["throughput_exact"], answer["throughput"]) == ("313/79", 313 / 79)
    assert (answer["period"], answer["common_divisor"]) == (2, 2)
    assert answer["stability"]["verdict"] == "stable"
    assert answer["stability"]["outside"] == 0
    assert answer["share_of_best_exact"] == "313/316"
    assert answer["evicting_iterations_per_period"] == 1
    assert answer["evicted_exact"] == "313/1343"
    assert answer["equilibrium_growing_modes"] == 1
    assert answer["verified"] is True


def test_share_belongs_to_the_first_length(capsys):
    one = answer_of(
        capsys, *["pulse", "4", "2", *ARGV[3:5], "--share", "0.25", "--capacity", "626"]
    )
    assert one["decode_lengths"] == [2, 4]
    assert one["shares_exact"] == ["3/4", "1/4"]
    other = answer_of(
        capsys, *["pulse", "2", "4", *ARGV[3:5], "--share", "3/4", "--capacity", "626"]
    )
    assert one == other


@pytest.mark.parametrize(
    "argv",
    [
        ARGV,
        ["pulse", "6", "9", "--input", "1", "--share", "0.05", "--capacity", "1e15"],
        ["pulse", "500", "1000", "--input", "99999", "--share", "1/999", "--capacity", "5000001/7"],
        ["pulse", "2", "4", "--input", "1", "--share", "2/5", "--capacity", "60"],
    ],
)
def test_text_fits_80_columns(argv, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # nothing is wrapped or cut to make it fit
    assert main(argv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert any(line.startswith("stability") for line in lines)


def test_a_cycle_too_long_to_run_says_so(capsys):
    argv = ["pulse", "500", "1000", "--input", "9", "--share", "1/2", "--capacity", "5000"]
    assert answer_of(capsys, *argv)["verified"] is None
    assert main(argv) == 0
    assert "not run" in capsys.readouterr().out


def test_a_neutral_cycle_is_called_neutral(capsys):
    argv = ["pulse", "2", "4", "--input", "1", "--share", "2/5", "--capacity", "60"]
    assert answer_of(capsys, *argv)["stability"]["verdict"] == "neutral"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["pulse", "2", "3", *ARGV[3:]], "LENGTH: got '2 3'; allowed: lengths with a common"),
        (["pulse", "2", "2", *ARGV[3:]], "LENGTH: got '2 2'"),
        (["pulse", "2", *ARGV[3:]], "LENGTH: got '2'"),
        (["pulse", "2", "4", "6", *ARGV[3:]], "LENGTH: got '2 4 6'"),
        (["pulse", "0", "4", *ARGV[3:]], "LENGTH: got '0'"),
        (["pulse", "2", "200000", *ARGV[3:]], "LENGTH: got '200000'; allowed: a whole number from"),
        ([*ARGV[:6], "0", *ARGV[7:]], "--share: got '0'"),
        ([*ARGV[:6], "1", *ARGV[7:]], "--share: got '1'"),
        ([*ARGV[:6], "half", *ARGV[7:]], "--share: got 'half'"),
        ([*ARGV[:6], "nan", *ARGV[7:]], "--share: got 'nan'"),
        ([*ARGV[:4], "0", *ARGV[5:]], "--input: got '0'"),
        ([*ARGV[:4], "2.5", *ARGV[5:]], "--input: got '2.5'"),
        ([*ARGV[:8], "54"], "--capacity: got '54'; allowed: more than 54 tokens"),
        ([*ARGV[:8], "many"], "--capacity: got 'many'"),
    ],
)
def test_bad_input_gets_one_line(argv, message, capsys):
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"fluidkv: {message}")
    assert captured.err.count("\n") == 1
