"""The settings that no other beats, as a person reads them."""

import math

from fluidkv.answers.recommend import Recommendation
from fluidkv.answers.recommend.choosing import MARGIN
from fluidkv.answers.served.rows import TITLES
from fluidkv.answers.served.setting import KNOBS
from fluidkv.report.numbers import counted, short
from fluidkv.report.page import Page

_ROWS = 8  # --out has all settings
_STEP = 0.9  # a row is shown if it preempts less than this times the row above
_HEADINGS = {
    "max_num_seqs": "max seqs",
    "admission_rate": "rate cap",
    "conservativeness": "conserv.",
}


def say_frontier(page: Page, found: Recommendation) -> None:
    """The table, fastest first."""
    shown = _shown(found)
    on_it = sum(index in found.frontier for index in shown)
    besides = counted(len(shown) - on_it, "other")
    more = f", and {besides}" if len(shown) > on_it else ""
    page.heading(f"Frontier: {on_it} of {len(found.frontier)} settings that no other beats{more}")
    turned = [k for k in KNOBS if len({getattr(found.settings[i], k) for i in shown}) > 1]
    unit = "s" if found.plan.clock.unit == "s" else "it"
    page.table(
        (
            "",
            *(_HEADINGS.get(k, k) for k in turned),
            f"tokens/{unit}",
            "preempt",
            *(TITLES[name] for name in found.tails),
        ),
        [
            (
                _mark(found, index),
                *(short(getattr(found.settings[index], knob)) for knob in turned),
                short(found.mean(index, found.throughput)),
                short(found.mean(index, "preemptions")),
                *(short(found.mean(index, name)) for name in found.tails),
            )
            for index in shown
        ],
    )
    legend = f"> pick  . now  = within {MARGIN:.0%} of the fastest"
    if found.runs > 1:
        legend += "  ~ not told from it by the runs"
    page.line(legend, "dim")


def _shown(found: Recommendation) -> list[int]:
    """Fastest first; then who preempts clearly less than all above; now and the pick besides."""
    fastest_first = sorted(found.frontier, key=lambda i: -found.mean(i, found.throughput))
    kept: list[int] = []
    least = math.inf
    for index in fastest_first:
        preemptions = found.mean(index, "preemptions")
        if preemptions < _STEP * least:
            kept.append(index)
            least = preemptions
    kept = kept[:_ROWS]
    besides = {0, found.choice.index, found.choice.closest} - {None, *kept}
    rows = [*kept, *(index for index in besides if index is not None)]
    return sorted(rows, key=lambda i: -found.mean(i, found.throughput))


def _mark(found: Recommendation, index: int) -> str:
    marks = ">" if index == found.choice.index else " "
    marks += "." if index == 0 else " "
    marks += "=" if found.as_fast(index) else " "
    return marks + ("~" if found.runs > 1 and found.in_noise(index) else " ")
