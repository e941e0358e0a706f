"""What a setting gains on the server as it is, and from where on a gain counts.

Two things can pretend a gain: chance, which differences between pairs of the same requests show,
and the model, which the log of a run shows. A gain counts if it is beyond both.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from fluidkv.answers.recommend.choosing import Choice, Table, choose
from fluidkv.answers.recommend.objective import MARGIN, Felt
from fluidkv.answers.served.bias import Bias
from fluidkv.answers.served.paired import difference, gained
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.slo import Slo
from fluidkv.plain import finite
from fluidkv.record import Record


@dataclass(frozen=True)
class Gain:
    """One setting in one metric against the server as it is; above 0 is better.

    Fields:
        relative: by the means over runs, infinite where today's is 0; where a log is given, the
            lesser of what is gained on the simulated and on the measured server.
        paired: mean over pairs: runs, or parts of the one run.
        half: half of its interval; NaN where there are no two pairs.
        bar: what the simulation misses on the log; None where no log says it.
        held: whether the log, if there is one, has this metric: else no gain in it counts.
        sign: -1 of a metric of which less is better.
    """

    relative: float
    paired: float
    half: float
    bar: float | None
    held: bool = True
    sign: int = 1

    @property
    def change(self) -> float:
        """Of the metric itself: below 0 where it gets less."""
        return self.sign * self.relative

    @property
    def needed(self) -> float:
        """What the gain has to exceed."""
        return max(MARGIN, self.bar or 0.0)

    @property
    def counts(self) -> bool:
        """Whether it is beyond chance, by both means, and beyond what the simulation misses."""
        beyond_chance = min(self.relative, self.paired) > self.half
        return bool(self.held and self.relative > self.needed and beyond_chance)

    @property
    def loses(self) -> bool:
        """Whether it is a loss that is beyond what the simulation misses."""
        return bool(self.relative < -self.needed)

    def to_dict(self) -> dict[str, float | None]:
        """Plain values for JSON."""
        numbers = {"relative": self.relative, "paired": self.paired, "half_width": self.half}
        return finite(numbers) | {"error_bar": self.bar, "counts": self.counts}


@dataclass(frozen=True, eq=False)
class Gains(Record):
    """Against the first setting.

    Fields:
        table: metrics [setting, run].
        segments: metrics [setting, run, segment] where there is one run; else None.
        bias: of the first setting, on its log; empty without a log.
        felt: what is to be had.
        widen: of intervals, for runs that are draws of one log; `fresh.Days` has it.
    """

    table: xr.Dataset
    segments: xr.Dataset | None
    bias: Mapping[str, Bias]
    felt: Felt
    widen: float = 1.0

    def of(self, index: int, metric: str) -> Gain:
        """What a setting gains in a metric."""
        sign = 1 if self.felt.more_is_better(metric) else -1
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
        gains = [self.of(index, metric) for metric in self.felt.order]
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
