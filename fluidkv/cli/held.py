"""What holds a simulated gain, in words: nothing measured, where no log is given; what we miss."""

from collections.abc import Sequence

from fluidkv.answers.served.elsewhere import missed_elsewhere
from fluidkv.answers.served.published import Published
from fluidkv.cli.page.page import Row

TITLES = {
    "ttft_p99": "p99 TTFT",
    "latency_p99": "p99 latency",
    "tpot_p99": "p99 TPOT",
    "longest_gap_p99": "p99 longest gap",
}


def not_measured(rules: str, caching: bool) -> str:
    """Where no log is given: what holds a gain, and what simulations missed where one was."""
    parts = []
    for one in missed_elsewhere(rules, caching):
        name = "output" if one.metric.startswith("output") else TITLES.get(one.metric, one.metric)
        parts.append(f"{name} {one.relative:+.1%}")
    said = "no log is given, so nothing measured holds a gain here"
    if not parts:
        return f"{said}; no log of such an engine was at hand"
    first = missed_elsewhere(rules, caching)[0]
    return (
        f"{said}. On the log of {first.server} ({first.log}) a simulation by the rules of "
        f"{first.engine} was off by {', '.join(parts)}"
    )


def published_rows(misses: Sequence[Published]) -> list[Row]:
    """One line on the published numbers of a knob that we miss, the first two of them."""
    if not misses:
        return []
    said = [
        f"{one.what}: {_in_unit(one.published, one.unit)} measured, "
        f"{_in_unit(one.ours, one.unit)} predicted ({one.claim})"
        for one in misses[:2]
    ]
    return [("published", "; ".join(said))]


def _in_unit(value: float, unit: str) -> str:
    return f"{value:.1%}" if unit == "share" else f"{value:+.3g} {unit}"
