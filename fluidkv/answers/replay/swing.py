"""The oscillation of the batch, as the log has it and as a prediction has it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from fluidkv.answers.replay.account import Account
from fluidkv.logs.timed import TimedRun
from fluidkv.measured import Measurement, Timeseries, measure
from fluidkv.record import Record


@dataclass(frozen=True)
class Swing(Record):
    """The oscillation of the batch over one window.

    Fields:
        window_s: first and last tick of it.
        mean: requests running.
        deviation: standard deviation about a straight line.
        period_s, p_value: see `fluidkv.measured.Oscillation`; None where no period is found.
    """

    window_s: tuple[float, float]
    mean: float
    deviation: float
    period_s: float | None
    p_value: float | None


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
