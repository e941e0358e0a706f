"""Which setting to take: the best in what is asked for, then in what else users feel.

Two things can pretend a gain: chance, which differences between pairs of the same requests show,
and the model, which the log of a run shows. A gain counts if it is beyond both.

Nothing here runs an engine. Results come as tables [setting, run]; the runs of all settings serve
the same requests in the same order, so that differences are taken run by run.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.answers.recommend.records import MARGIN, Choice, Gain, more_is_better
from fluidkv.answers.served.bias import Bias
from fluidkv.answers.served.described import THROUGHPUTS
from fluidkv.answers.served.paired import difference, gained
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.slo import Slo
from fluidkv.record import Record

RULE = (
    f"of those allowed, within {MARGIN:.0%} of the best in what is asked for; of these, within "
    f"{MARGIN:.0%} of the best in what else users feel, one after the other; then the fewest knobs "
    "turned; then the higher throughput"
)
"""How a setting is picked, in words for a page.

>>> from fluidkv.answers.recommend.choosing import RULE
>>> RULE.split(";")[0]
'of those allowed, within 2% of the best in what is asked for'
"""

Table = Mapping[str, Float[np.ndarray, "setting run"]]


def choose(
    settings: Sequence[Setting],
    table: Table,
    slos: Sequence[Slo] = (),
    *,
    felt: Sequence[str],
    among: Sequence[int] | None = None,
) -> Choice:
    """The setting to take, by `RULE`. Allowed is what meets every SLO in every run.

    Without SLOs, allowed is what makes nothing that users feel, beside the objective, worse by more
    than `MARGIN` of what it is in the first setting, by the means.

    Args:
        settings: the first is how the server is set now.
        table: metric -> values; of `felt` and of what SLOs name.
        slos: what is asked.
        felt: metrics that users feel, in the order in which they count; the first is the
            objective.
        among: indices of the settings that may be taken; None: all.
    """
    means = {name: table[name].mean(axis=1) for name in felt}
    conditions = [slo.met(table[slo.metric]) for slo in slos]
    for name in () if slos else felt[1:]:
        today = means[name][0]  # what has no value now is nothing to compare with
        conditions.append(np.isnan(today) | _no_worse(means[name], today, more_is_better(name)))
    fine = np.all([np.ones(len(settings), bool), *conditions], axis=0)
    allowed = [i for i in np.flatnonzero(fine).tolist() if among is None or i in among]
    if not allowed:
        return Choice(closest=_closest(table, slos, among))
    left = allowed
    for name in felt:
        left = _near_the_best(left, means[name], more_is_better(name))
    fastest = next(means[name] for name in felt if name in THROUGHPUTS)
    index = min(left, key=lambda i: (len(settings[i].changed(settings[0])), -fastest[i]))
    return Choice(index, index, tuple(allowed))


def _near_the_best(
    places: Sequence[int], values: Float[np.ndarray, " setting"], more: bool
) -> Sequence[int]:
    """Those within `MARGIN` of the best; all, where none has a value."""
    finite = [i for i in places if np.isfinite(values[i])]
    if not finite:
        return places
    best = (max if more else min)(values[i] for i in finite)
    return [i for i in finite if _no_worse(values[i], best, more)]


def _no_worse(values: Any, than: float, more: bool) -> Any:
    """Whether values are within `MARGIN` of one, or better."""
    return values >= (1 - MARGIN) * than if more else values <= (1 + MARGIN) * than


def _closest(table: Table, slos: Sequence[Slo], among: Sequence[int] | None) -> int | None:
    """The one that misses fewest bounds, and of these by least."""
    if not slos:
        return None
    excess = np.array([slo.excess(table[slo.metric]) for slo in slos])
    missed = (excess > 0).sum(axis=0)
    order = np.lexsort((excess.max(axis=0), missed)).tolist()
    return next((i for i in order if among is None or i in among), None)


# --- what a setting gains on the server as it is ------------------------------------------------


@dataclass(frozen=True, eq=False)
class Gains(Record):
    """Against the first setting.

    Fields:
        table: metrics [setting, run].
        segments: metrics [setting, run, segment] where there is one run; else None.
        bias: of the first setting, on its log; empty without a log.
        felt: metrics that users feel, in the order in which they count.
        widen: of intervals, for runs that are draws of one log; `fresh.Days` has it.
    """

    table: xr.Dataset
    segments: xr.Dataset | None
    bias: Mapping[str, Bias]
    felt: tuple[str, ...]
    widen: float = 1.0

    def of(self, index: int, metric: str) -> Gain:
        """What a setting gains in a metric."""
        sign = 1 if more_is_better(metric) else -1
        values = self.table[metric].values
        pairs = values
        if self.segments is not None and metric in self.segments:
            pairs = self.segments[metric].values.reshape(len(values), -1)
        there = np.isfinite(pairs[[0, index]]).all(axis=0)
        now, then = pairs[0][there], pairs[index][there]
        paired, half = math.nan, math.nan
        if there.sum() > 1:
            mean, width = difference(then, now)
            if scale := abs(float(now.mean())):
                paired, half = sign * mean / scale, self.widen * width / scale
            elif abs(mean) > width:
                paired, half = sign * gained(mean, 0.0), 0.0
        bias, value = self.bias.get(metric), self.beside_log(index, metric)
        if bias is None:
            gain = sign * gained(value, self.beside_log(0, metric))
            return Gain(gain, paired, half, None, held=not self.bias, sign=sign)
        gain = bias.gain(value, more_is_better=sign > 0)
        return Gain(gain, paired, half, bias.error_bar, sign=sign)

    def beside_log(self, index: int, metric: str) -> float:
        """The mean over runs; where the log has the metric, as its clients would have seen it.

        They count the delay to the scheduler and back, which a run does not have.
        """
        values = self.table[metric].values
        value, base = float(values[index].mean()), float(values[0].mean())
        bias = self.bias.get(metric)
        return value if bias is None else value + (bias.simulated - base)

    def real(self, index: int) -> bool:
        """Whether a setting gains in something that users feel, and loses in nothing of it."""
        gains = [self.of(index, metric) for metric in self.felt]
        return any(gain.counts for gain in gains) and not any(gain.loses for gain in gains)


def choose_gains(
    settings: Sequence[Setting],
    table: Table,
    slos: Sequence[Slo],
    gains: Gains,
    among: Sequence[int] | None = None,
) -> Choice:
    """The choice among settings that gain; without such, the server is left as it is.

    Where it does not meet what is asked as it is, what meets it is taken, and what else it gains or
    loses is no matter.

    Args:
        settings, table, slos, among: as in `choose`.
        gains: of the same settings.
    """
    choice = choose(settings, table, slos, felt=gains.felt, among=among)
    if not choice.index or 0 not in choice.allowed:
        return choice
    real = [i for i in choice.allowed if i and gains.real(i)]
    taken = choose(settings, table, slos, felt=gains.felt, among=real or [0])
    return replace(choice, index=taken.index)


# --- the frontier -------------------------------------------------------------------------------


def frontier_of(
    means: Float[np.ndarray, "setting objective"], settings: Sequence[Setting]
) -> tuple[int, ...]:
    """Settings that no other beats: as good in every objective, and better in one.

    Of settings with the same means, the one with the fewest knobs turned stays: a cap that never
    binds is no setting of its own.

    Args:
        means: the first column is of a throughput, the others are to be small; NaN counts as worse
            than any number.
    """
    signs = np.array([1.0] + [-1.0] * (means.shape[1] - 1))
    good = np.where(np.isnan(means), -np.inf, means * signs)
    as_good = (good[:, None] >= good[None]).all(axis=2)
    places = range(len(settings))
    order = sorted(places, key=lambda i: len(settings[i].changed(settings[0])))
    rank = np.array([order.index(place) for place in places])
    beats = as_good & (~as_good.T | (rank[:, None] < rank[None]))
    return tuple(np.flatnonzero(~beats.any(axis=0)).tolist())


def smallest_without_preemptions(
    settings: Sequence[Setting], preemptions: Float[np.ndarray, "setting run"]
) -> int | None:
    """The smallest watermark that ends preemption in every run, all else as it is now.

    Returns:
        Index of the setting; None if no watermark that was tried ends it.
    """
    ending = (i for i in watermarks_alone(settings) if not preemptions[i].any())
    return next(ending, None)


def watermarks_alone(settings: Sequence[Setting]) -> tuple[int, ...]:
    """Settings that differ from the first in the watermark only, the first included."""
    alone = [i for i, s in enumerate(settings) if set(s.changed(settings[0])) <= {"watermark"}]
    return tuple(sorted(alone, key=lambda i: settings[i].watermark))
