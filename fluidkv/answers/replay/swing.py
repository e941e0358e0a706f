"""The oscillation of the batch, as the log has it and as a prediction has it."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Bool

from fluidkv.answers.replay.account import Account
from fluidkv.logs.timed import TimedRun
from fluidkv.measured import Measurement, Timeseries, measure
from fluidkv.questions.answer import Answer, Described


@dataclass(frozen=True)
class Swing(Answer):
    """The oscillation of the batch over one window."""

    window_s: Annotated[tuple[float, float], Described("[first, last] tick of it", "s", lists=1)]
    mean: Annotated[float, Described("running", "requests")]
    deviation: Annotated[float, Described("standard deviation about a straight line", "requests")]
    period_s: Annotated[float | None, Described("of the swing; null where none is seen", "s")]
    p_value: Annotated[
        float | None, Described("of the period, against red noise; null likewise", kind="share")
    ]


def backlog_of(log: TimedRun, ticks: Bool[np.ndarray, " tick"]) -> tuple[float, float]:
    """From the first to the last of the ticks that show requests waiting; of all if none does."""
    waiting = ticks & (log.waiting > 0)
    ends = log.tick_ends_s[waiting if waiting.any() else ticks]
    return float(ends[0]), float(ends[-1])


def swing_of(account: Account, window: tuple[float, float] | None) -> Swing:
    """None takes the window of `measure`."""
    ends = account.log.tick_ends_s
    tokens = np.nan_to_num(account.generated)  # of no part in what is taken from it here
    series = Timeseries(ends, account.running, account.waiting, tokens)
    measurement: Measurement = measure(series, window=window)
    first, last = measurement.window_s
    inside = (ends >= first) & (ends <= last)
    t, running = ends[inside], account.running[inside]
    line = np.polynomial.Polynomial.fit(t, running, min(1, t.size - 1))(t)
    wave = measurement.oscillation
    return Swing(
        window_s=measurement.window_s,
        mean=measurement.running_mean,
        deviation=float((running - line).std()),
        period_s=None if wave is None else wave.period_s,
        p_value=None if wave is None else wave.p_value,
    )
