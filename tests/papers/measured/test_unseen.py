"""Logs not looked at before: the page's numbers are the record's, and the record is the logs'."""

import re
from dataclasses import astuple
from pathlib import Path

import pytest

from fluidkv.answers.served.elsewhere import recorded as simulated
from fluidkv_papers.measured.instances.unseen import LOGS, computed, held, recorded

PAGE = (Path(__file__).parents[3] / "docs" / "measured.md").read_text(encoding="utf-8")
HALF, RUN, DATA = "second half", "run", "modelled"


def cells(start: str) -> list[str]:
    """The cells behind the bound, of the row of the page's last section that begins so."""
    section = PAGE.partition("## Servers that were not looked at before")[2]
    (row,) = (line for line in section.splitlines() if line.startswith(f"| {start}"))
    return [cell.strip().strip("*") for cell in row.strip("| ").split("|")][2:]


@pytest.mark.parametrize(
    ("start", "part", "what"),
    [
        ("latency, median", HALF, "latency"),
        ("first token", HALF, "ttft"),
        ("token by token", HALF, "tpot"),
        ("running, root", HALF, "running"),
        ("a step, least", DATA, "step, least memory"),
        ("a step, most", DATA, "step, most memory"),
        ("a token of prefill", DATA, "prefill token"),
    ],
)
def test_the_page_has_the_errors_on_record(start: str, part: str, what: str) -> None:
    rows = [held(log.name, part, what) for log in LOGS]
    sign = "+" if part == DATA else ""
    assert cells(start) == [f"{row.off:{sign}.1%}".replace("%", " %") for row in rows if row]


@pytest.mark.parametrize(
    ("start", "what", "form"),
    [("most running", "peak running", ".0f"), ("duration, s", "duration", ".1f")],
)
def test_the_page_has_the_runs_on_record(start: str, what: str, form: str) -> None:
    rows = [held(log.name, RUN, what) for log in LOGS]
    assert cells(start) == [f"{row.ours:{form}} ({row.measured:{form}})" for row in rows if row]


def test_the_page_has_the_preemptions_on_record() -> None:
    rows = [held(log.name, RUN, "preemptions at least") for log in LOGS]
    said = [[float(n) for n in re.findall(r"\d+", cell)] for cell in cells("preemptions")]
    assert said == [[row.ours, row.measured] for row in rows if row]


@pytest.mark.parametrize(
    ("start", "metric"),
    [
        ("output throughput", "output_throughput_per_time"),
        ("p99 TTFT", "ttft_p99"),
        ("p99 latency", "latency_p99"),
    ],
)
def test_the_page_has_what_recommend_missed(start: str, metric: str) -> None:
    names = [log.name for log in LOGS]
    rows = [one for one in simulated() if (one.engine, one.metric) == ("vllm+cache", metric)]
    found = {one.log: f"{one.relative:+.1%}".replace("%", " %") for one in rows}
    assert cells(start) == [found[name] for name in names]


def test_the_page_names_every_log() -> None:
    for log in LOGS:
        assert log.commit[:7] in PAGE
        assert log.path.removesuffix("/vllm") in PAGE
        assert f"{log.capacity:,}" in PAGE
    assert {one.log for one in recorded()} == {log.name for log in LOGS}


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_what_is_on_record_is_computed_again(log, unseen_dir) -> None:
    found, kept = list(computed(unseen_dir, log)), [r for r in recorded() if r.log == log.name]
    assert [astuple(one)[:3] for one in found] == [astuple(one)[:3] for one in kept]
    for one, other in zip(found, kept, strict=True):
        assert astuple(one)[3:] == pytest.approx(astuple(other)[3:], rel=1e-5, abs=1e-6)
