"""What the suite found as rows of words, for a terminal and for a page."""

from collections.abc import Iterable, Sequence

from fluidkv.suite.report import Rate, Ratio, Report, Section

NOT_MEASURED = "not measured"
DISTURBED = "~"
"""Before a rate of calls that took unlike times."""
SAID_DISTURBED = f"{DISTURBED}: disturbed, the median call took over 1.2 times the best."
_BUSY = 0.5
"""Runnable processes of others, from which on a machine is not said to be quiet."""

Table = tuple[list[str], list[list[str]]]


def rate_table(section: Section) -> Table:
    """A row for each way, a column for each case."""
    cases = _in_order(each.case for each in section.rates)
    ways = _in_order(each.way for each in section.rates)
    found = {(each.way, each.case): said_rate(section, each) for each in section.rates}
    head = f"{section.unit}, time of one" if section.as_time else f"{section.unit}/s"
    return [head, *cases], [[way, *(found.get((way, case), "") for case in cases)] for way in ways]


def ratio_table(section: Section) -> Table:
    """A row for each ratio, a column for each case."""
    cases = _in_order(each.case for each in section.ratios)
    whats = _in_order(each.what for each in section.ratios)
    found = {(each.what, each.case): said_ratio(each) for each in section.ratios}
    rows = [[what, *(found.get((what, case), "") for case in cases)] for what in whats]
    return ["ratio of speeds" if section.as_time else "ratio", *cases], rows


def aims(section: Section) -> list[str]:
    """A sentence for each aim: where it was met, and where not."""
    said: dict[str, list[str]] = {}
    for each in section.ratios:
        for word, bound in (("at least", each.at_least), ("at most", each.at_most)):
            if bound is not None:
                met = {True: "met", False: "missed", None: NOT_MEASURED}[each.met]
                said.setdefault(f"{each.what}, {word} {bound:g}", []).append(f"{each.case} {met}")
    return [f"aim: {aim}: {', '.join(places)}" for aim, places in said.items()]


def machine_rows(report: Report) -> list[tuple[str, str]]:
    """Where, when, with what: label and text."""
    m = report.machine
    memory = "" if m.memory_gb is None else f", {m.memory_gb:g} GB"
    versions = ", ".join(f"{name} {number}" for name, number in m.versions.items())
    before, after = report.load_before, report.load_after
    loads = "not known" if before is None else f"{before:.1f} before, {after or 0:.1f} after"
    busy = before is not None and before > _BUSY
    return [
        ("processor", f"{m.processor}, {m.cores} cores{memory}, {m.system}"),
        ("device", f"{m.device}" + (f" ({m.devices} of them)" if m.devices > 1 else "")),
        ("versions", versions),
        ("date", report.date),
        ("command", report.repeat),
        ("load", loads + ("; DISTURBED: other work was running" if busy else "")),
    ]


def said_rate(section: Section, each: Rate) -> str:
    """With the unit that leaves one to three digits before the point."""
    if each.per_second is None:
        return NOT_MEASURED
    said = seconds(1 / each.per_second) if section.as_time else with_prefix(each.per_second)
    return (DISTURBED if each.disturbed else "") + said


def said_ratio(each: Ratio) -> str:
    """Three digits."""
    return (
        "-"
        if each.value is None
        else f"{each.value:.3g}"
        if each.value < 1000
        else f"{each.value:,.0f}"
    )


def any_disturbed(sections: Iterable[Section]) -> bool:
    """Whether a rate carries the mark."""
    return any(each.disturbed for section in sections for each in section.rates)


def with_prefix(value: float) -> str:
    """45.6 M for 45,600,000."""
    for prefix, scale in ((" G", 1e9), (" M", 1e6), (" k", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g}{prefix}"
    return f"{value:.3g}"


def seconds(value: float) -> str:
    """With the unit that leaves one to three digits before the point, as far as hours."""
    if value >= 3600:
        return f"{value / 3600:.3g} h"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Padded columns, that read well as text too: words to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "| " + " | ".join(padded) + " |"

    rule = "".join(
        "|" + ("-" * (width + 2) if i < left else "-" * (width + 1) + ":")
        for i, width in enumerate(widths)
    )
    return "\n".join([line(header), rule + "|", *map(line, rows)])


def _in_order(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))
