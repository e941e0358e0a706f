"""Is what a log shows an instability, or noise: its running requests against what chance does."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import numpy as np

from fluidkv.answers.study.chance import Chance
from fluidkv.errors import InputError
from fluidkv.footprints import swing_test
from fluidkv.footprints.limit_cycle import SwingTest
from fluidkv.measured import Measurement, Timeseries
from fluidkv.questions.answer import Answer, Described, described

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
class MeasuredSwing(Answer):
    """How requests swung in a log, beside what chance does around the equilibrium.

    Examples:
        >>> from fluidkv.answers.study.swing import MeasuredSwing
        >>> MeasuredSwing(None, "a constant series", 184, 32, None).verdict is None
        True
    """

    test: Annotated[
        SwingTest | None,
        Described(
            "against the spectrum of chance; null where it cannot be asked",
            flat=True,
            below=(
                ("level", "share", "of the test"),
                ("period=peak_period", "iterations", "where the log has most power above chance"),
                ("power_over_noise=most", "relative", "the largest band over noise"),
                ("noise_up_to=high", "relative", "what noise stays below"),
            ),
        ),
    ]
    reason: Annotated[
        str, Described("why it is not asked; null where it is", json=lambda text: text or None)
    ]
    ticks: Annotated[int, Described("ticks of the log", kind="number")]
    every: Annotated[
        int,
        Described(
            "from one tick to the next, by the engine's rate",
            key="iterations_per_tick",
            kind="number",
        ),
    ]
    predicted_period: Annotated[
        float | None,
        Described(
            "where the spectrum of chance peaks, of an unstable server the period of what grows; "
            "null where there is none",
            unit="iterations",
        ),
    ]

    @described("`noise`, `instability` or `less than chance`; null: not asked")
    def verdict(self) -> Swings | None:
        """An instability: more power than noise has, in some band. Less than chance: none has half
        of it. The formula has up to a third too much at high frequencies, so that a band with too
        little says nothing.
        """
        if self.test is None:
            return None
        if self.test.most > self.test.high:
            return Swings.INSTABILITY
        return Swings.LESS if self.test.most < _HALF else Swings.NOISE


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
