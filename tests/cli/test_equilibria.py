"""`fluidkv equilibria`: what it prints, in 80 columns, and what bad input gets."""

import json

import pytest

from fluidkv.cli import main

ARGV = ["equilibria", "--class", "5:9", "--capacity", "1000"]


def shown(capsys, *more):
    assert main([*ARGV, *more, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_json_of_one_gap_vector(capsys):
    (cycle,) = shown(capsys, "--gaps", "4,1,3,1")["cycles"]
    assert cycle["gaps"] == [4, 1, 3, 1]
    assert cycle["period"] == 9
    assert (cycle["throughput"], cycle["throughput_exact"]) == (1000 / 99, "1000/99")
    assert cycle["name"] == "balanced cycle (4,1,3,1)"


def test_json_of_all_and_of_a_level(capsys):
    everything = shown(capsys)["cycles"]
    assert len(everything) == 59
    assert all(cycle["verified"] for cycle in everything)
    level = shown(capsys, "--level", "7")["cycles"]
    assert level == [cycle for cycle in everything if cycle["level"] == 7]


@pytest.mark.parametrize(
    "argv",
    [
        ARGV,
        [*ARGV, "--gaps", "4,1,3,1"],
        ["equilibria", "--class", "20:34", "--capacity", "1234567890123", "--level", "2"],
        ["equilibria", "--class", "3:1", "--capacity", "13/3"],
    ],
)
def test_text_fits_80_columns(argv, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # nothing is wrapped or cut to make it fit
    assert main(argv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert any(line.startswith("worst case") for line in lines)


def test_text_names_the_number_that_it_is_for(capsys):
    assert main([*ARGV, "--gaps", "1,4,1,3"]) == 0
    text = capsys.readouterr().out
    assert "4,1,3,1" in text
    assert "1000/99" in text
    assert "71.4%" in text  # the worst case, 5/7


def test_long_gap_vectors_are_shown_by_their_runs(capsys):
    argv = ["equilibria", "--class", "20:34", "--capacity", "1000", "--level", "2"]
    assert main(argv) == 0
    text = capsys.readouterr().out
    assert "\n2,15*1,2,15*1 " in text
    assert "some of 31" in text  # too many live positions for a count; unstable all the same


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--gaps", "4,5,3"], "gaps: got (4, 5, 3)"),
        (["--gaps", "4,x"], "--gaps: got"),
        (["--gaps", "4.5,4.5"], "--gaps: got '4.5,4.5'"),
        (["--gaps", ""], "--gaps: got ''"),
        (["--gaps", "9,0"], "gaps: got"),
        (["--level", "9"], "level: got 9"),
        (["--level", "-1"], "level: got -1"),
        (["--level", "1,2"], "--level: got '1,2'"),
        (["--class", "2:3"], "--class: got '5:9 2:3'"),
        (["--capacity", "14"], "capacity: got 14"),
        (["--capacity", "many"], "--capacity: got 'many'"),
    ],
)
def test_bad_input_gets_one_line(more, message, capsys):
    assert main([*ARGV, *more]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"fluidkv: {message}")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("class_", "start"), [("5:9:1/2", "--class"), ("9", "--class"), ("5:40", "equilibria")]
)
def test_bad_class_gets_one_line(class_, start, capsys):
    assert main(["equilibria", "--class", class_, "--capacity", "1000"]) == 2
    assert capsys.readouterr().err.startswith(f"fluidkv: {start}: got ")
