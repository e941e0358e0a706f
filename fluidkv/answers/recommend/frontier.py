"""Settings of a server against each other: what to try, which are on the frontier, which to take.

Nothing here runs an engine. Results come as tables [setting, run]; the runs of all settings serve
the same requests in the same order, so that differences are taken run by run.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from fluidkv.errors import InputError

CONFIDENCE = 0.95
"""Of the two-sided interval for a difference; for each pair by itself, not for all at once."""


@dataclass(frozen=True)
class Setting:
    """What an operator can turn. None: no cap.

    Args:
        watermark: share of the blocks that admission leaves free.
        max_num_seqs: most requests running at once.
        admission_rate: most admissions an iteration.
        clients: requests in the system at once, where clients wait for their answers.
    """

    watermark: float = 0.0
    max_num_seqs: int | None = None
    admission_rate: Fraction | None = None
    clients: int | None = None

    def changed(self, other: "Setting") -> tuple[str, ...]:
        """The knobs in which two settings differ."""
        return tuple(name for name in KNOBS if getattr(self, name) != getattr(other, name))


KNOBS = tuple(field.name for field in fields(Setting))
_IN_PAIRS = ("watermark", "max_num_seqs")  # caps of the engine itself, tried together


def sweep(now: Setting, candidates: Mapping[str, Iterable[Any]]) -> tuple[Setting, ...]:
    """What to try: as it is now, first; each knob alone; watermark and max_num_seqs in pairs.

    Args:
        now: as the server is set.
        candidates: knob -> values to try.

    Returns:
        Settings without repetition.
    """
    values = {name: list(candidates.get(name, ())) for name in KNOBS}
    found = [now]
    for name, tried in values.items():
        found += [replace(now, **{name: value}) for value in tried]
    pairs = product(*(values[name] for name in _IN_PAIRS))
    found += [replace(now, **dict(zip(_IN_PAIRS, pair, strict=True))) for pair in pairs]
    return tuple(dict.fromkeys(found))


def pareto(
    values: Float[np.ndarray, "setting objective"], higher: Sequence[bool]
) -> Bool[np.ndarray, " setting"]:
    """Which rows no other row beats: as good in every objective, and better in one.

    Args:
        values: one column an objective; NaN counts as worse than any number.
        higher: whether more is better, for each column.
    """
    signs = np.where(higher, 1.0, -1.0)
    good = np.where(np.isnan(values), -np.inf, values * signs)
    as_good = (good[:, None, :] >= good[None, :, :]).all(axis=2)
    better = (good[:, None, :] > good[None, :, :]).any(axis=2)
    return np.logical_not((as_good & better).any(axis=0))


def difference(
    first: Float[np.ndarray, " run"], second: Float[np.ndarray, " run"]
) -> tuple[float, float]:
    """Mean of first - second over runs of the same requests, and half the width of its interval.

    Student's t at `CONFIDENCE`. One run says nothing about noise: the half width is then 0, so that
    only equal numbers are a tie. NaN in either gives NaN.
    """
    from scipy.stats import t  # half a second; only who compares pays for it

    gaps = np.asarray(first, float) - np.asarray(second, float)
    mean = float(gaps.mean())
    if gaps.size < 2:
        return mean, 0.0 if math.isfinite(mean) else math.nan
    error = float(gaps.std(ddof=1)) / math.sqrt(gaps.size)
    return mean, float(t.ppf((1 + CONFIDENCE) / 2, gaps.size - 1)) * error


def within_noise(first: Float[np.ndarray, " run"], second: Float[np.ndarray, " run"]) -> bool:
    """Whether the runs do not tell the two apart."""
    mean, half = difference(first, second)
    return abs(mean) <= half


def without_twins(
    values: Float[np.ndarray, "setting objective"], settings: Sequence[Setting]
) -> tuple[int, ...]:
    """Of settings with the same results, the one with the fewest knobs turned; a cap that never
    binds is no setting of its own.
    """
    first: dict[bytes, int] = {}
    for index in sorted(range(len(settings)), key=lambda i: len(settings[i].changed(settings[0]))):
        first.setdefault(values[index].tobytes(), index)
    return tuple(sorted(first.values()))


# --- what is asked of a server ------------------------------------------------------------------

_TIMES = tuple(
    f"{metric}_{statistic}"
    for metric in ("ttft", "latency", "tpot", "longest_gap")
    for statistic in ("mean", "p50", "p95", "p99")
)
_THROUGHPUTS = (
    "output_throughput",
    "output_throughput_per_time",
    "throughput",
    "throughput_per_time",
)
SLO_METRICS: Mapping[str, bool] = MappingProxyType(
    dict.fromkeys((*_TIMES, "preemptions", "preemption_rate", "recompute_tax"), False)
    | dict.fromkeys(_THROUGHPUTS, True)
)
"""Metric of `fluidkv.runs.measuring` -> whether its bound is a least value, not a most."""


@dataclass(frozen=True)
class Slo:
    """A bound on a metric: at most so much, or at least so much of a throughput.

    Args:
        metric: one of `SLO_METRICS`.
        bound: in the metric's unit; finite, at least 0.

    Raises:
        InputError: another metric or bound.
    """

    metric: str
    bound: float

    def __post_init__(self) -> None:
        if self.metric not in SLO_METRICS:
            raise InputError("slo", self.metric, f"one of {', '.join(SLO_METRICS)}")
        if not math.isfinite(self.bound) or self.bound < 0:
            raise InputError("slo", f"{self.metric}={self.bound}", "a finite bound of at least 0")

    @property
    def at_least(self) -> bool:
        return SLO_METRICS[self.metric]

    def met(self, values: Float[np.ndarray, "setting run"]) -> Bool[np.ndarray, " setting"]:
        """Settings that meet it in every run; where a run has no value, it is not met."""
        fine = values >= self.bound if self.at_least else values <= self.bound
        return np.all(fine, axis=1)

    def excess(self, values: Float[np.ndarray, "setting run"]) -> Float[np.ndarray, " setting"]:
        """By how much the worst run misses it, relative to the bound; 0 where it is met.

        To a bound of 0, relative to the largest value of all settings. Inf where a run has none.
        """
        over = self.bound - values if self.at_least else values - self.bound
        worst = np.where(np.isnan(over), np.inf, over).max(axis=1)
        scale = self.bound or float(np.nanmax(values, initial=0.0)) or 1.0
        return np.maximum(worst, 0.0) / scale


# --- which to take ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """What to take, and what was left when it was taken; numbers are indices of settings.

    Fields:
        index: the setting to take; None if none is allowed.
        allowed: those that meet what is asked.
        ties: of those, the ones whose throughput is within `MARGIN` of the highest.
        closest: where none is allowed, the one that misses by least.
    """

    index: int | None
    allowed: tuple[int, ...]
    ties: tuple[int, ...]
    closest: int | None


MARGIN = 0.02
"""What counts as no loss. Noise is no measure for it: few runs would call a tenth of the throughput
a tie, and many runs nothing at all.
"""

RULE = (
    f"of those allowed and within {MARGIN:.0%} of the highest output throughput among them, the "
    "fewest preemptions; then the fewest knobs turned; then the higher throughput"
)


def choose(
    settings: Sequence[Setting],
    table: Mapping[str, Float[np.ndarray, "setting run"]],
    slos: Sequence[Slo] = (),
    *,
    throughput: str,
    tails: Sequence[str],
    among: Sequence[int] | None = None,
) -> Choice:
    """The setting to take, by `RULE`. Allowed is what meets every SLO in every run.

    Without SLOs, allowed is what lengthens none of the `tails` by more than `MARGIN` of what it is
    in the first setting, by the means.

    Args:
        settings: the first is how the server is set now.
        table: metric -> values; of `throughput`, "preemptions", `tails` and what SLOs name.
        slos: what is asked.
        throughput: the metric to make large.
        tails: metrics that must not get worse.
        among: indices of the settings that may be taken; None: all.
    """
    if slos:
        allowed = np.all([slo.met(table[slo.metric]) for slo in slos], axis=0)
    else:
        allowed = np.all([_no_worse(table[name]) for name in tails], axis=0)
    kept = tuple(i for i in np.flatnonzero(allowed).tolist() if among is None or i in among)
    if not kept:
        excess = np.array([slo.excess(table[slo.metric]) for slo in slos])
        missed = (excess > 0).sum(axis=0)
        order = np.lexsort((excess.max(axis=0), missed))
        return Choice(None, (), (), int(order[0]))
    speeds = table[throughput]
    means = speeds.mean(axis=1)
    best = max(kept, key=lambda i: means[i])
    ties = tuple(i for i in kept if means[i] >= (1 - MARGIN) * means[best])
    preemptions = table["preemptions"].mean(axis=1)
    chosen = min(
        ties, key=lambda i: (preemptions[i], len(settings[i].changed(settings[0])), -means[i])
    )
    return Choice(chosen, kept, ties, None)


def _no_worse(tail: Float[np.ndarray, "setting run"]) -> Bool[np.ndarray, " setting"]:
    """A tail that has no value now is nothing to compare with."""
    means = tail.mean(axis=1)
    if np.isnan(means[0]):
        return np.ones(means.size, bool)
    return means <= (1 + MARGIN) * means[0]


def smallest_without_preemptions(
    settings: Sequence[Setting], preemptions: Float[np.ndarray, "setting run"]
) -> int | None:
    """The smallest watermark that ends preemption in every run, all else as it is now.

    Returns:
        Index of the setting; None if no watermark that was tried ends it.
    """
    return min(
        (i for i in watermarks_alone(settings) if not preemptions[i].any()),
        key=lambda i: settings[i].watermark,
        default=None,
    )


def watermarks_alone(settings: Sequence[Setting]) -> tuple[int, ...]:
    """Settings that differ from the first in the watermark only, the first included."""
    alone = [i for i, s in enumerate(settings) if set(s.changed(settings[0])) <= {"watermark"}]
    return tuple(sorted(alone, key=lambda i: settings[i].watermark))
