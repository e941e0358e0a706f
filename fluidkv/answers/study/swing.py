"""Is what a log shows an instability, or noise: its running requests against what chance does."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fluidkv.answers.study.chance import Chance
from fluidkv.errors import InputError
from fluidkv.footprints import swing_test
from fluidkv.footprints.limit_cycle import SwingTest
from fluidkv.measured import Measurement, Timeseries
from fluidkv.record import Record

_HALF = 0.5


class Swings(StrEnum):
    """What a measured series of running requests is.

    Examples:
        >>> from fluidkv.answers.study.swing import Swings
        >>> str(Swings.LESS)
        'less than chance'
    """

    NOISE = "noise"
    INSTABILITY = "instability"
    LESS = "less than chance"


@dataclass(frozen=True)
class MeasuredSwing(Record):
    """How requests swung in a log, beside what chance does around the equilibrium.

    Fields:
        test: against the spectrum of chance; None where it cannot be asked.
        reason: why not, or "".
        ticks: numbers of the series.
        every: iterations from one tick to the next, by the engine's rate.
        predicted_period: iterations; where the spectrum of chance peaks, of an unstable server the
            period of what grows; None where there is none.

    Examples:
        >>> from fluidkv.answers.study.swing import MeasuredSwing
        >>> MeasuredSwing(None, "a constant series", 184, 32, None).verdict is None
        True
    """

    test: SwingTest | None
    reason: str
    ticks: int
    every: int
    predicted_period: float | None

    @property
    def verdict(self) -> Swings | None:
        """An instability: more power than noise has, in some band. Less than chance: none has half
        of it. The formula has up to a third too much at high frequencies, so that a band with too
        little says nothing.
        """
        if self.test is None:
            return None
        most = self.test.ratio.max()
        if most > self.test.high:
            return Swings.INSTABILITY
        return Swings.LESS if most < _HALF else Swings.NOISE

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        test = self.test
        return {
            "verdict": None if self.verdict is None else str(self.verdict),
            "reason": self.reason or None,
            "level": test.level if test else None,
            "period": test.peak_period if test else None,
            "power_over_noise": float(test.ratio.max()) if test else None,
            "noise_up_to": test.high if test else None,
            "predicted_period": self.predicted_period,
            "ticks": self.ticks,
            "iterations_per_tick": self.every,
        }


def measured_swing(
    series: Timeseries, measurement: Measurement, chance: Chance, growing_period: float | None
) -> MeasuredSwing:
    """Hold a series of running requests to what chance does on a server, in the measured window.

    Args:
        series: counters of the engine.
        measurement: of that series, with its window, and iterations a second.
        chance: of the server and its requests.
        growing_period: iterations; of what grows, where the server is unstable.
    """
    start, end = measurement.window_s
    grid = np.linspace(start, end, measurement.samples)
    running = np.interp(grid, series.t_s, series.running)
    every = max(1, round(measurement.tick_s * measurement.iterations_per_s))
    period = growing_period if chance.running_std is None else chance.peak_period
    try:
        test = swing_test(running, chance.stability.server, every=every)
    except InputError as error:
        reason = f"{error.value}; needed: {error.allowed}"
        return MeasuredSwing(None, reason, len(running), every, period)
    return MeasuredSwing(test, "", len(running), every, period)
