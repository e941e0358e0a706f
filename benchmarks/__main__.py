"""Run the suite and all deep benchmarks, record it under docs/benchmarks/ and write RESULTS.md.

python -m benchmarks
"""

from pathlib import Path

from benchmarks import (
    atlas,
    basins,
    caching,
    certificate,
    convergence,
    engine,
    enumeration,
    first_call,
    footprints,
    labels,
    page,
    paging,
    preempt,
    prefix,
    serving,
    study,
    tokenpd,
    wait,
)
from benchmarks.inputs import SkippedError
from fluidkv.suite.report import Report
from fluidkv.suite.run import run_suite
from fluidkv.suite.tables import machine_rows

RESULTS = Path(__file__).parent / "RESULTS.md"
OPENING = """\
# Deep benchmarks

Written by `make bench` (`python -m benchmarks`); the suite that ships is in
[docs](../docs/benchmarks.md). Compare ratios, not times: each ratio is of two things measured in
the same run on the same machine. Every section states the load of the machine, processes that were
runnable in the last minute, the benchmark's own among them.
"""


def main() -> None:
    report = run_suite(on_progress=lambda done, total, what: print(f"{done} of {total}: {what}"))
    recorded = page.record(report)
    sections = [_opening(report)]
    print(sections[0])
    for module in (
        *(
            certificate,
            engine,
            first_call,
            labels,
            basins,
            convergence,
            enumeration,
            atlas,
        ),
        *(serving, preempt, caching, prefix, paging, study, wait, tokenpd, footprints),
    ):
        try:
            section = module.report() + "\n"
        except SkippedError as reason:
            section = f"## {module.__name__}\n\nSkipped: {reason}.\n"
        print(section, flush=True)
        sections.append(section)
    RESULTS.write_text("\n".join(sections), encoding="utf-8")
    print(f"written: {recorded.name}, {RESULTS.name}")


def _opening(report: Report) -> str:
    facts = [f"- {label}: {said}" for label, said in machine_rows(report) if label != "command"]
    return "\n".join([OPENING, *facts, ""])


if __name__ == "__main__":
    main()
