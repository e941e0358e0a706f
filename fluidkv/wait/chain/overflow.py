"""How often Nested WAIT exceeds a memory, measured over many runs.

Source: WAIT, Theorem 2.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scipy import stats

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import above_0, real
from fluidkv.wait.chain.simulate import simulate_chain
from fluidkv.wait.model import Exact
from fluidkv.wait.segments import Segments


@dataclass(frozen=True)
class OverflowFrequency(Record):
    """How many of some runs exceeded a memory, and what that says of the probability.

    Fields:
        exceeded, runs: counts.
        frequency: of the two.
        interval: Clopper and Pearson's, for the probability: exact whatever it is.
        confidence: of the interval.
        delta: what a bound claims the probability to be at most; None: nothing.
        peak: most tokens held in any run, also in an iteration that starts after the horizon (a
            run's last one, when it had to wait), which `exceeded` leaves out.
    """

    exceeded: int
    runs: int
    frequency: float
    interval: tuple[float, float]
    confidence: float
    delta: float | None
    peak: float

    @property
    def refuted(self) -> bool:
        """Whether the interval lies above delta."""
        return self.delta is not None and self.interval[0] > self.delta


def overflow_frequency(
    segments: Segments,
    thresholds: Iterable[int],
    *,
    base: Exact,
    per_kv_token: Exact,
    horizon: float,
    capacity: float,
    delta: float | None = None,
    runs: int = 10_000,
    seed: int = 0,
    confidence: float = 0.99,
    on_progress: Callable[[int, int], None] | None = None,
) -> OverflowFrequency:
    """How often Nested WAIT exceeds `capacity` in an iteration that starts before `horizon`.

    Args:
        delta: probability that a bound allows; recorded beside the result.
        others: of `simulate_chain`.

    Raises:
        InputError: as `simulate_chain`, or a probability that is none.

    Source: WAIT, Theorem 2.

    Examples:
        >>> from fluidkv.wait import Segments, overflow_frequency
        >>> segments = Segments(3, ends=(1, 3), rates=(6, 2))
        >>> clock = {"base": 1, "per_kv_token": Fraction(1, 600)}
        >>> until = {"horizon": 30, "capacity": 115, "runs": 128}
        >>> found = overflow_frequency(segments, (9, 4), **clock, **until)
        >>> found.exceeded, found.frequency, found.peak
        (110, 0.859375, 135.0)
    """
    confidence, horizon = probability("confidence", confidence), above_0("horizon", horizon)
    if delta is not None:
        delta = probability("delta", delta)
    found = simulate_chain(
        segments,
        thresholds,
        base=base,
        per_kv_token=per_kv_token,
        runs=runs,
        horizon=horizon,
        seed=seed,
        memory=capacity,
        on_progress=on_progress,
    )
    exceeded = int((found.exceeded < horizon).sum())
    interval = stats.binomtest(exceeded, runs).proportion_ci(confidence, method="exact")
    return OverflowFrequency(
        exceeded,
        runs,
        exceeded / runs,
        (float(interval.low), float(interval.high)),
        confidence,
        delta,
        float(found.peak_held.max()),
    )


def probability(argument: str, value: object) -> float:
    """The value as a float between 0 and 1, neither of them.

    Raises:
        InputError: something else.
    """
    found = real(value)
    if not 0 < found < 1:
        raise InputError(argument, value, "a number between 0 and 1")
    return found
