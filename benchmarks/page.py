"""The recorded runs of the suite, and what the page docs/benchmarks.md shows of them.

    fluidkv bench --json > run.json
    python -m benchmarks.page run.json

A run is recorded under docs/benchmarks/, by the kind of device that JAX had: one for processors,
one for accelerators. `make docs` puts the numbers on the page, where none is typed.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from fluidkv.suite.report import Report, Section
from fluidkv.suite.tables import (
    NOT_MEASURED,
    SAID_DISTURBED,
    aims,
    machine_rows,
    markdown_table,
    said_rate,
    said_ratio,
)

DOCS = Path(__file__).parent.parent / "docs"
RECORDS = DOCS / "benchmarks"
DEVICES = {"CPU": "cpu.json", "GPU": "gpu.json"}
Reports = dict[str, Report | None]
"""Kind of device -> what was recorded there."""


def recorded(folder: Path = RECORDS) -> Reports:
    """What there is."""
    found: Reports = {}
    for kind, name in DEVICES.items():
        path = folder / name
        there = path.is_file()
        found[kind] = Report.of_dict(json.loads(path.read_text("utf-8"))) if there else None
    return found


def record(report: Report, folder: Path = RECORDS) -> Path:
    """Keep a run, in place of the last one on such a device."""
    folder.mkdir(exist_ok=True)
    path = folder / DEVICES["CPU" if report.machine.device == "cpu" else "GPU"]
    text = json.dumps(report.as_dict(), indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def numbers(reports: Reports) -> str:
    """What the page has of them: machines, and a section for each benchmark."""
    parts = [SAID_DISTURBED, ""]
    for kind, report in reports.items():
        parts += [f"**{kind}**" if report else f"**{kind}**: {NOT_MEASURED}.", ""]
        if report:
            parts += [f"- {label}: {said}" for label, said in machine_rows(report)]
            parts += ["- small problems, whose rates say little"] * report.quick + [""]
    sections = {
        kind: {section.name: section for section in report.sections} if report else {}
        for kind, report in reports.items()
    }
    for name in _in_order([name for found in sections.values() for name in found]):
        parts += _section({kind: found.get(name) for kind, found in sections.items()})
    return "\n".join(parts)


def _section(found: dict[str, Section | None]) -> list[str]:
    there = [section for section in found.values() if section is not None]
    first = there[0]
    head = f"{first.unit}, time of one" if first.as_time else f"{first.unit}/s"
    rates = {
        kind: {(each.case, each.way): said_rate(section, each) for each in section.rates}
        if section
        else {}
        for kind, section in found.items()
    }
    ratios = {
        kind: {(each.case, each.what): said_ratio(each) for each in section.ratios}
        if section
        else {}
        for kind, section in found.items()
    }
    said = {kind: [*aims(section), *section.notes] for kind, section in found.items() if section}
    lines = [f"- {kind}: {each}" for kind, sentences in said.items() for each in sentences]
    return [
        f"## {first.title}",
        "",
        first.about,
        "",
        _side_by_side(["", head], rates),
        "",
        _side_by_side(["", "ratio"], ratios),
        "",
        *lines,
        "",
    ]


def _side_by_side(header: list[str], found: dict[str, dict[tuple[str, str], str]]) -> str:
    keys = _in_order([key for values in found.values() for key in values])
    rows = [[*key, *(values.get(key, NOT_MEASURED) for values in found.values())] for key in keys]
    return markdown_table([*header, *found], rows, left=2)


def _in_order(keys: Sequence) -> list:
    return list(dict.fromkeys(keys))


def main(argv: Sequence[str]) -> None:
    for name in argv:
        path = record(Report.of_dict(json.loads(Path(name).read_text("utf-8"))))
        print(f"recorded: {path.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
