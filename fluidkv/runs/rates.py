"""How often requests come: bursts, rates that change with time, and points of a Poisson process.

Whole requests (`fluidkv.runs.arrivals`), WAIT's prompts, its chains and the open mass model take
their rates from here. A rate is requests per unit of the run's clock.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int
from numpy.random import Generator

from fluidkv.errors import InputError
from fluidkv.runs.checks import above_0, floats

_ROUNDING = 1e-12  # of a sum of rates: that of some thousand types
_AT_ONCE = 4096  # points drawn at a time: always as many, so that a longer run begins alike


# ---------------------------------------------------------------------------------------- bursts


def burst_rates(
    rate: float, *, period: float, window: float, contrast: float, keep_mean: bool = True
) -> tuple[float, float]:
    """The rates in the first `window` of every `period`, and outside of it.

    Args:
        rate: their mean over a period; without `keep_mean`, the rate outside: bursts add to it.
        period, window: on the run's clock.
        contrast: the rate in a burst over the rate outside; infinite: nobody comes outside. What is
            told as a factor on the mean is `contrast_of` it.
        keep_mean: see `rate`.

    Raises:
        InputError: a rate or contrast that is not above 0; a window outside of (0, period).

    Examples:
        >>> from fluidkv.runs.rates import burst_rates
        >>> burst_rates(1.0, period=10, window=2, contrast=6)  # 2 of 10 at 3, 8 of 10 at 0.5
        (3.0, 0.5)
    """
    above_0("rate", rate)
    above_0("contrast", contrast, infinite=keep_mean)
    _inside("window", window, above_0("period", period))
    if not keep_mean:
        return rate * contrast, rate
    if contrast == math.inf:
        return rate * period / window, 0.0
    between = rate * period / (window * contrast + (period - window))
    return between * contrast, between


def contrast_of(factor: float, *, period: float, window: float) -> float:
    """The contrast of bursts whose rate is `factor` times the mean rate.

    Raises:
        InputError: a factor with which the mean cannot be kept; a window outside of (0, period).

    Examples:
        >>> from fluidkv.runs.rates import contrast_of
        >>> contrast_of(3.0, period=10, window=2)
        6.0
    """
    _inside("window", window, above_0("period", period))
    most = period / window
    if not 0 < above_0("factor", factor) <= most:
        raise InputError("factor", factor, f"at most period / window = {most:g}, to keep the mean")
    left = period - factor * window
    return factor * (period - window) / left if left else math.inf


def _inside(name: str, window: float, period: float) -> None:
    if not 0 < window < period:
        raise InputError(name, window, f"in (0, {period:g}), inside of a period")


# ----------------------------------------------------------------------------- rates that change


@dataclass(frozen=True)
class RateSteps:
    """What all arrival rates are multiplied by, piece by piece.

    Args:
        times: where pieces begin, increasing, the first 0.
        factors: one for each piece, at least 0; the last holds for ever and is above 0.

    Raises:
        InputError: a number outside of what is said here.

    Examples:
        >>> from fluidkv.runs.rates import RateSteps
        >>> rates = RateSteps((0, 2), (1, 0.5)).times_rates([4.0, 6.0])
        >>> rates.at(np.array([1.9, 2.0])).tolist()
        [[4.0, 6.0], [2.0, 3.0]]
    """

    times: tuple[float, ...]
    factors: tuple[float, ...]

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(self, times: Iterable[float], factors: Iterable[float]) -> None: ...

    def __post_init__(self) -> None:
        times, factors = _pieces("times", self.times, "factors", self.factors, 1)
        object.__setattr__(self, "times", tuple(times.tolist()))
        object.__setattr__(self, "factors", tuple(factors.tolist()))

    def times_rates(self, rates: Sequence[float]) -> "VaryingRates":
        """The rates of types that are these at a factor of 1."""
        return VaryingRates.steps(self.times, np.outer(self.factors, rates))


@dataclass(frozen=True)
class VaryingRates:
    """Arrival rates that change with time.

    Args:
        at: times, shape (time,), -> rates by type, shape (time, type), prompts per unit of time,
            each at least 0. It is asked for many times at once, maybe for none.
        most: the sum over types is never above this; finite, above 0.

    Raises:
        InputError: `at` that cannot be called, or `most` out of range.

    Examples:
        >>> from fluidkv.runs.rates import VaryingRates
        >>> rates = VaryingRates.steps([0, 10], [[2.0, 1.0], [5.0, 0.0]])
        >>> rates.most, rates.at(np.array([10.0])).tolist()
        (5.0, [[5.0, 0.0]])
    """

    at: Callable[[Float[np.ndarray, " time"]], Float[np.ndarray, "time type"]]
    most: float

    def __post_init__(self) -> None:
        if not callable(self.at):
            raise InputError("at", self.at, "a function of times")
        above_0("most", self.most)

    @classmethod
    def steps(
        cls, starts: Sequence[float], rates: Sequence[Sequence[float]] | np.ndarray
    ) -> "VaryingRates":
        """Rates that are constant between steps.

        Args:
            starts: when each piece starts; 0 first, increasing. The last one goes on for ever.
            rates: (piece, type), prompts per unit of time, at least 0; in the last piece not all 0.

        Raises:
            InputError: starts that do not increase from 0, or rates out of range.
        """
        begins, table = _pieces("starts", starts, "rates", rates, 2)

        def at(times: Float[np.ndarray, " time"]) -> Float[np.ndarray, "time type"]:
            return table[np.searchsorted(begins, times, side="right") - 1]

        # The same sum as the one that it bounds: in the order of types, piece by piece.
        return cls(at, float(np.cumsum(table, axis=1)[:, -1].max()))


def _pieces(
    begin: str, starts: object, name: str, values: object, dims: int
) -> tuple[Float[np.ndarray, " piece"], Float[np.ndarray, "..."]]:
    """When pieces begin, from 0 on, and a value or a row for each; the last one holds for ever."""
    rising, each = "finite times that increase from 0", "finite numbers of at least 0"
    begins, table = floats(begin, _listed(starts), rising), floats(name, _listed(values), each)
    fine = begins.ndim == 1 and begins.size > 0 and begins[0] == 0 and np.isfinite(begins).all()
    if not (fine and (np.diff(begins) > 0).all()):
        raise InputError(begin, starts, rising)
    if table.ndim != dims or len(table) != begins.size or table.size == 0:
        raise InputError(name, f"shape {table.shape}", f"one for each time, {begins.size}")
    if not (np.isfinite(table).all() and (table >= 0).all() and table[-1].any()):
        raise InputError(name, values, f"{each}, of the last one something above")
    return begins, table


def _listed(values: object) -> object:
    return list(values) if isinstance(values, Iterable) else values


# ---------------------------------------------------------------------------------------- points


def poisson_points(
    rates: VaryingRates, width: int, *, rng: Generator, horizon: float, count: int | None
) -> tuple[Float[np.ndarray, " point"], Int[np.ndarray, " point"]]:
    """Times and types of points that come at these rates, before a horizon or so many.

    Types superpose: points of one process with the sum of the rates, each of which is given a type
    by the rates at its time. Where rates change, points come at a rate that is never exceeded, and
    each is kept with the probability that its time asks for (thinning): exact, no grid is laid.

    Args:
        rates: by type.
        width: how many types.
        rng: a longer horizon or a larger count only adds points at the end.
        horizon: points come before it.
        count: so many; None: all before the horizon.

    Raises:
        InputError: rates of other types, or outside of what they promise.
    """
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    found = 0
    for times, types in _blocks(rates, width, rng, horizon):
        parts.append((times[types >= 0], types[types >= 0]))
        found += parts[-1][0].size
        if len(times) < _AT_ONCE or (count is not None and found >= count):
            break
    times, types = (np.concatenate(column) for column in zip(*parts, strict=True))
    return times[:count], types[:count]


def _blocks(
    rates: VaryingRates, width: int, rng: Generator, horizon: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Points at rate `most`, with the type of each, -1 for one that is not kept.

    The last block is short: nobody asks for rates at or after the horizon.
    """
    now = 0.0
    while True:
        with np.errstate(over="ignore"):  # at rates near 0 times may be infinite
            times = now + np.cumsum(rng.standard_exponential(_AT_ONCE)) / rates.most
        now = times[-1]
        times = times[: np.searchsorted(times, horizon)]
        marks = rates.most * rng.random(_AT_ONCE)[: times.size]
        upto = np.cumsum(_checked(rates, times, width), axis=1)
        types = (marks[:, None] >= upto).sum(axis=1)
        yield times, np.where(types < upto.shape[1], types, -1)


def _checked(rates: VaryingRates, times: np.ndarray, width: int) -> Float[np.ndarray, "time type"]:
    shape = (times.size, width)
    found = floats("rates", rates.at(times), f"numbers of shape {shape}")
    if found.shape != shape:
        raise InputError("rates", f"shape {found.shape} at {times.size} times", f"{shape}")
    total = found.sum(axis=1)
    # A sum in another order may be above it by rounding.
    if not ((found >= 0).all() and (total <= rates.most * (1 + _ROUNDING)).all()):
        worst = int(np.argmax(np.where(found.min(axis=1) < 0, np.inf, total)))
        raise InputError(
            "rates",
            f"{found[worst].tolist()} at {times[worst]:g}",
            f"rates of at least 0 whose sum is at most {rates.most:g}",
        )
    return found
