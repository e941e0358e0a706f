"""What holds a simulated gain, in words: nothing measured, where no log is given; what we miss."""

from collections.abc import Mapping, Sequence

from fluidkv.answers.served.bias import Bias
from fluidkv.answers.served.elsewhere import missed_elsewhere
from fluidkv.answers.served.published import Published
from fluidkv.report.numbers import short
from fluidkv.report.page import Page, Row

TITLES = {
    "ttft_p50": "median TTFT",
    "ttft_p99": "p99 TTFT",
    "latency_p99": "p99 latency",
    "tpot_p99": "p99 TPOT",
    "longest_gap_p99": "p99 longest gap",
}


def measured_table(page: Page, bias: Mapping[str, Bias]) -> None:
    """The log beside its simulation: how far that is off, and with the spread its error bar."""
    rows = []
    for name, one in bias.items():
        title = f"{TITLES[name]}, s" if name in TITLES else "output, tokens/s"
        cells = [title, short(one.measured), short(one.simulated)]
        rows.append([*cells, f"{one.relative:+.1%}", f"{one.error_bar:.1%}"])
    page.table(["", "measured", "simulated", "off by", "error bar"], rows)


def not_measured(rules: str, caching: bool) -> str:
    """Where no log is given: what holds a gain, and what simulations missed where one was."""
    said = "no log of this very run is given, so nothing measured holds a gain here"
    missed = missed_elsewhere(rules, caching)
    if not missed:
        return f"{said}; no log of such an engine was at hand"
    parts = []
    for metric in dict.fromkeys(one.metric for one in missed):
        name = "output" if metric.startswith("output") else TITLES.get(metric, metric)
        off = [one.relative for one in missed if one.metric == metric]
        span = f"{min(off):+.1%}" if len(off) == 1 else f"{min(off):+.1%} to {max(off):+.1%}"
        parts.append(f"{name} {span}")
    logs, first = {one.log for one in missed}, missed[0]
    return (
        f"{said}. On {len(logs)} measured {'log' if len(logs) == 1 else 'logs'} of {first.server} "
        f"simulations by the rules of {first.engine} were off by {', '.join(parts)}"
    )


def published_rows(misses: Sequence[Published]) -> list[Row]:
    """What is published of a knob beside what we predict, and what chance makes of the two."""
    return [("published", "; ".join(map(_published, misses)))] if misses else []


def _published(one: Published) -> str:
    measured, ours = (_in_unit(value, one.unit) for value in (one.published, one.ours))
    text = f"{one.what}: {measured} measured, {ours} predicted"
    if one.chance is not None:
        within = abs(one.published - one.ours) <= one.chance
        apart = "no more than the order of arrival makes, so that one test run will not tell"
        beyond = "more than the order of arrival makes"
        text += f", {apart if within else beyond} ({one.chance:.2g} {one.unit})"
    return f"{text} ({one.claim})"


def _in_unit(value: float, unit: str) -> str:
    return f"{value:.1%}" if unit == "share" else f"{value:+.3g} {unit}"
