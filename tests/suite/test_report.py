"""The report: values that JSON carries whole, and tables of 80 columns."""

import json

import pytest

from fluidkv.cli.commands.bench.text import say_report
from fluidkv.report.page import Page
from fluidkv.report.terminal import WIDTH
from fluidkv.suite.machine import Machine
from fluidkv.suite.report import Rate, Ratio, Report, Section, against, rate
from fluidkv.suite.tables import aims, machine_rows, rate_table, ratio_table, said_ratio
from fluidkv.suite.timing import Times, alternating

FAST, SLOW = Rate("L = 8", "fast way", 2e9), Rate("L = 8", "slow way", 4e6, disturbed=True)
NONE = Rate("L = 40", "fast way", None, why="no C compiler")
SECTION = Section(
    "mass",
    "Mass engine",
    "About it.",
    "steps",
    (FAST, SLOW, NONE),
    (
        against("L = 8", FAST, SLOW, at_least=100),
        against("L = 40", NONE, SLOW, at_least=100),
        Ratio("L = 40", "cost", 3.5, at_most=2),
    ),
    ("A note.",),
)
HERE = Machine("A processor", 2, 24.5, "Linux x86_64", "cpu", 1, {"python": "3.11.7"})


def report(load: float | None = 0.1) -> Report:
    return Report(HERE, "2026-01-02 03:04 UTC", "fluidkv bench", False, load, load, (SECTION,))


def test_a_report_goes_through_json_whole() -> None:
    assert Report.of_dict(json.loads(json.dumps(report().as_dict()))) == report()


def test_a_ratio_says_whether_its_aim_was_met() -> None:
    assert [each.met for each in SECTION.ratios] == [True, None, False]
    assert Ratio("", "", 1.0).met is None
    said = report().as_dict()["sections"][0]["ratios"]
    assert [each["met"] for each in said] == [True, None, False]


def test_tables_have_a_column_for_each_case() -> None:
    assert rate_table(SECTION) == (
        ["steps/s", "L = 8", "L = 40"],
        [["fast way", "2 G", "not measured"], ["slow way", "~4 M", ""]],
    )
    assert ratio_table(SECTION) == (
        ["ratio", "L = 8", "L = 40"],
        [["fast way / slow way", "500", "-"], ["cost", "", "3.5"]],
    )
    assert aims(SECTION) == [
        "aim: fast way / slow way, at least 100: L = 8 met, L = 40 not measured",
        "aim: cost, at most 2: L = 40 missed",
    ]
    assert said_ratio(Ratio("", "", 12345.6)) == "12,346"


@pytest.mark.parametrize(
    ("load", "said"),
    [
        (0.1, "0.1 before, 0.1 after"),
        (3.0, "3.0 before, 3.0 after; DISTURBED: other work was running"),
        (None, "not known"),
    ],
)
def test_a_busy_machine_is_said_to_be_one(load: float | None, said: str) -> None:
    assert dict(machine_rows(report(load)))["load"] == said


def test_a_rate_is_disturbed_where_calls_take_unlike_times() -> None:
    assert rate("", "", 10, Times(2.0, 2.1, 3)) == Rate("", "", 5.0)
    assert rate("", "", 10, Times(2.0, 2.5, 3)).disturbed


def test_ways_are_called_in_turn_after_a_warm_up() -> None:
    called: list[str] = []
    found = alternating({way: lambda way=way: called.append(way) for way in "ab"}, calls=2)
    assert called == list("ababab")
    assert [found[way].calls for way in "ab"] == [2, 2]


def test_a_person_reads_it_in_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    say_report(Page(), report())
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= WIDTH
    for part in ("A processor, 2 cores, 24.5 GB", "~4 M", "disturbed, the median", "A note."):
        assert part in shown
