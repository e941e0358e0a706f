"""Our table beside the published one: what is taken from a table, and how two are compared."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import verdict
from fluidkv.papers.vllm.claims.watermark_draws import Statistic, chance, of_draws
from fluidkv.papers.vllm.claims.watermark_runs import PUBLISHED, Row, fitted_clock, predicted
from fluidkv.verdict import Evidence, Verdict


def preemptions(index: int) -> Statistic:
    return lambda rows: [rows[index].preemptions]


def all_preemptions(rows: Sequence[Row]) -> list[float]:
    return [row.preemptions for row in rows]


def gone(rows: Sequence[Row]) -> list[float]:
    """Share of the preemptions that the second row is without."""
    return [1 - rows[1].preemptions / rows[0].preemptions]


def gains(rows: Sequence[Row]) -> list[float]:
    """Tokens/s of the other rows, over those of the first."""
    return [row.output_per_s / rows[0].output_per_s - 1 for row in rows[1:]]


def best_gain(rows: Sequence[Row]) -> list[float]:
    return [max(gains(rows))]


def changes(name: str) -> Statistic:
    """A time of the other rows less that of the first, for the rows that were published."""

    def statistic(rows: Sequence[Row]) -> list[float]:
        shown = [row for row, known in zip(rows, PUBLISHED, strict=True) if _has(known, name)]
        first, *others = (getattr(row, name) for row in shown)
        return [value - first for value in others]

    return statistic


def as_predicted(
    statistic: Statistic, form: str, *, scale: float = 1.0, none_too: bool = True
) -> Callable[[], Outcome]:
    """Whether the run of seed 0 gives the published numbers, to within what chance does.

    Args:
        none_too: ask also whether a watermark without any effect would pass. Not for the first row,
            which has none.
    """

    def check() -> Outcome:
        rows = predicted(fitted_clock())
        ours, printed, allowed = (
            scale * np.array(values)
            for values in (statistic(rows), statistic(PUBLISHED), chance(statistic))
        )
        off = abs(ours - printed) > allowed
        found, note = verdict(not off.any()), ""
        if none_too and not off.any():
            none = [replace(rows[0], watermark=row.watermark) for row in rows]
            if (abs(scale * np.array(statistic(none)) - printed) <= allowed).all():
                found, note = Verdict.UNDECIDED, "; no effect at all would pass as well"
        witness = ""
        if off.any():
            k = int(off.argmax())
            witness = f"{form.format(ours[k])} for {form.format(printed[k])}"
        return Outcome(
            found,
            Evidence.SAMPLED,
            *(_shown(values, form) for values in (ours, printed)),
            note=f"two draws of the requests differ by up to {_shown(allowed, form)}{note}",
            witness=witness,
        )

    return check


def among_draws(statistic: Statistic, form: str) -> Callable[[], Outcome]:
    """Whether each published number lies in the range of the draws, at its watermark."""

    def check() -> Outcome:
        values, printed = of_draws(statistic), np.array(statistic(PUBLISHED))
        low, high = values.min(axis=0), values.max(axis=0)
        outside = (printed < low) | (printed > high)
        spans = [f"{form.format(a)} to {form.format(b)}" for a, b in zip(low, high, strict=True)]
        k = int(outside.argmax())
        return Outcome(
            verdict(not outside.any()),
            Evidence.SAMPLED,
            ", ".join(spans),
            _shown(printed, form),
            witness=f"{form.format(printed[k])} outside {spans[k]}" if outside.any() else "",
        )

    return check


def _shown(values: Sequence[float] | np.ndarray, form: str) -> str:
    return ", ".join(form.format(value) for value in values)


def _has(row: Row, name: str) -> bool:
    return getattr(row, name) is not None
