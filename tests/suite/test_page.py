"""The page of benchmarks has the numbers of the runs recorded beside it, and no others."""

import dataclasses
import re
from pathlib import Path

from benchmarks import page
from docs._site.recorded_runs import with_recorded_runs
from fluidkv.suite.run import BENCHMARKS
from tests.suite.test_report import HERE, SECTION, report


def test_the_page_has_what_the_records_say() -> None:
    reports = page.recorded()
    text = (page.DOCS / "benchmarks.md").read_text(encoding="utf-8")
    shown = with_recorded_runs({"benchmarks.md": text})["benchmarks.md"]
    assert shown.endswith(f"the first is faster.\n\n{page.numbers(reports)}")
    assert not re.search(r"^\|", text, re.M)
    whole = reports["CPU"]
    assert whole is not None
    assert [section.name for section in whole.sections] == list(BENCHMARKS)
    assert whole.repeat.startswith("fluidkv bench")


def test_a_run_is_recorded_by_its_device(tmp_path: Path) -> None:
    there = dataclasses.replace(report(), machine=dataclasses.replace(HERE, device="Some GPU"))
    assert page.record(report(), tmp_path).name == "cpu.json"
    assert page.record(there, tmp_path).name == "gpu.json"
    assert page.recorded(tmp_path) == {"CPU": report(), "GPU": there}


def test_what_was_not_measured_is_said() -> None:
    other = dataclasses.replace(SECTION, rates=SECTION.rates[:1])
    there = dataclasses.replace(report(), sections=(other,))
    alone, both = (
        page.numbers({"CPU": report(), "GPU": None}),
        page.numbers({"CPU": there, "GPU": report()}),
    )
    assert "| L = 8  | slow way |         ~4 M | not measured |" in alone
    assert "| L = 8  | slow way | not measured |         ~4 M |" in both
    assert "- processor: A processor, 2 cores, 24.5 GB, Linux x86_64" in alone
    assert "**GPU**: not measured." in alone
    assert "- CPU: aim: cost, at most 2: L = 40 missed" in alone
