"""Prompts that come at random: a Poisson process for each type, whose rate may change with time.

Types superpose: points of one process with the sum of the rates, each of which is given a type by
the rates at its time. Where rates change, points come at a rate that is never exceeded, and each is
kept with the probability that its time asks for (thinning): exact, no grid of time is laid.

Source: WAIT, section 2.2; section 7.1 (Theorem 3) for rates that change.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np
from jaxtyping import Float, Int
from numpy.random import Generator

from fluidkv.errors import InputError
from fluidkv.runs.checks import above_0, floats
from fluidkv.runs.checks import count as at_least
from fluidkv.runs.requests import Requests
from fluidkv.wait.model import WaitSystem, finite

MOST_PROMPTS = 10**7
"""Of a table, at most: three seconds and 0.8 GB. Where rates change, those that are not kept count
too; before a horizon, so many may come on average."""

_ROUNDING = 1e-12  # of a sum of rates: that of some thousand types
_AT_ONCE = 4096  # points drawn at a time: always as many, so that a longer run begins alike


@dataclass(frozen=True)
class VaryingRates:
    """Arrival rates that change with time.

    Args:
        at: times, shape (time,), -> rates by type, shape (time, type), prompts per unit of time,
            each at least 0. It is asked for many times at once, maybe for none.
        most: the sum over types is never above this; finite, above 0.

    Raises:
        InputError: `at` that cannot be called, or `most` out of range.
    """

    at: Callable[[Float[np.ndarray, " time"]], Float[np.ndarray, "time type"]]
    most: float

    def __post_init__(self) -> None:
        if not callable(self.at):
            raise InputError("at", self.at, "a function of times")
        most = self.most
        fine = isinstance(most, int | float) and not isinstance(most, bool) and 0 < most < math.inf
        if not fine:
            raise InputError("most", most, "a finite rate above 0")

    @classmethod
    def steps(cls, starts: Sequence[float], rates: Sequence[Sequence[float]]) -> "VaryingRates":
        """Rates that are constant between steps.

        Args:
            starts: when each piece starts; 0 first, increasing. The last one goes on for ever.
            rates: (piece, type), prompts per unit of time, at least 0; in the last piece not all 0
                (as `fluidkv.wait.chain.rates.RateSteps` has it).

        Raises:
            InputError: starts that do not increase from 0, or rates out of range.
        """
        begins = floats("starts", starts, "finite times that increase from 0")
        table = floats("rates", rates, "a row of rates for each start, one rate a type")
        rising = begins.ndim == 1 and begins.size > 0 and begins[0] == 0
        if not (rising and np.isfinite(begins).all() and (np.diff(begins) > 0).all()):
            raise InputError("starts", starts, "finite times that increase from 0")
        if table.ndim != 2 or len(table) != begins.size or table.shape[1] == 0:
            raise InputError("rates", f"shape {table.shape}", f"({begins.size}, types)")
        if not (np.isfinite(table).all() and (table >= 0).all() and table[-1].any()):
            allowed = "finite rates of at least 0, one of the last piece above"
            raise InputError("rates", rates, allowed)

        def at(times: Float[np.ndarray, " time"]) -> Float[np.ndarray, "time type"]:
            return table[np.searchsorted(begins, times, side="right") - 1]

        # The same sum as the one that it bounds: in the order of types, piece by piece.
        return cls(at, float(np.cumsum(table, axis=1)[:, -1].max()))


def poisson_prompts(
    system: WaitSystem,
    *,
    rng: Generator | int,
    horizon: float | None = None,
    count: int | None = None,
    rates: VaryingRates | None = None,
) -> Requests:
    """Poisson arrivals of all types on a continuous clock, from time 0.

    With one seed, a longer horizon or a larger count only adds prompts at the end.

    Args:
        system: types and their rates; the class index of a prompt is its place among the types.
        rng: a numpy generator or a seed, at least 0. For many runs: one table for each seed.
        horizon: prompts come before this time; above 0.
        count: so many prompts come; only with constant rates. Give one of the two. No more than
            `MOST_PROMPTS` in either case.
        rates: rates that change, instead of those of the types.

    Raises:
        InputError: not one of `horizon` and `count`, a number out of range, rates of other types or
            outside of what they promise, more prompts than `MOST_PROMPTS`, or a horizon before
            which nobody comes.
    """
    if (horizon is None) == (count is None):
        raise InputError("horizon", horizon, "a time, or a count instead")
    if count is not None and rates is not None:
        raise InputError("count", count, "a horizon, where rates change: they may come to an end")
    size = None if count is None else at_least("count", count)
    until = math.inf if horizon is None else above_0("horizon", horizon)
    generator = rng if isinstance(rng, Generator) else np.random.default_rng(_seed(rng))
    own = _rates(system, rates)
    if size is not None and size > MOST_PROMPTS:
        raise InputError("count", count, f"at most {MOST_PROMPTS:,} prompts")
    if horizon is not None and until > MOST_PROMPTS / own.most:
        allowed = f"at most {MOST_PROMPTS / own.most:.6g}: {MOST_PROMPTS:,} prompts on average"
        raise InputError("horizon", until, allowed)
    times, types = _points(own, len(system.types), generator, until, size)
    if size is not None and times.size < size:
        raise InputError("count", count, f"at most the {times.size} that come at finite times")
    if not times.size:
        raise InputError("horizon", horizon, "a time before which somebody comes, with this seed")
    lengths = np.array([(each.input_length, each.output_length) for each in system.types])
    return Requests(lengths[types, 0], lengths[types, 1], arrival=times, class_index=types)


def _points(
    rates: VaryingRates, width: int, rng: Generator, horizon: float, count: int | None
) -> tuple[Float[np.ndarray, " prompt"], Int[np.ndarray, " prompt"]]:
    """Times and types."""
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


def _rates(system: WaitSystem, rates: VaryingRates | None) -> VaryingRates:
    if rates is None:
        constant = [finite("arrival_rate", each.arrival_rate) for each in system.types]
        finite("arrival_rate", system.arrival_rate)
        return VaryingRates.steps([0], [constant])
    if not isinstance(rates, VaryingRates):
        raise InputError("rates", rates, "VaryingRates")
    return rates


def _seed(rng: object) -> int:
    if isinstance(rng, bool) or not isinstance(rng, SupportsIndex) or rng.__index__() < 0:
        raise InputError("rng", rng, "a numpy generator, or a seed of at least 0")
    return rng.__index__()


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
