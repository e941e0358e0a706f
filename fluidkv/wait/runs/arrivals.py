"""Prompts that come at random: a Poisson process for each type, whose rate may change with time.

Source: WAIT, section 2.2; section 7.1 (Theorem 3) for rates that change.
"""

import math
from typing import SupportsIndex

import numpy as np
from numpy.random import Generator

from fluidkv.errors import InputError
from fluidkv.runs.checks import above_0
from fluidkv.runs.checks import count as at_least
from fluidkv.runs.rates import RateSteps, VaryingRates, poisson_points
from fluidkv.runs.requests import Requests
from fluidkv.wait.model import WaitSystem, finite

MOST_PROMPTS = 10**7
"""Of a table, at most: three seconds and 0.8 GB. Where rates change, those that are not kept count
too; before a horizon, so many may come on average."""


def poisson_prompts(
    system: WaitSystem,
    *,
    rng: Generator | int,
    horizon: float | None = None,
    count: int | None = None,
    rates: VaryingRates | RateSteps | None = None,
) -> Requests:
    """Poisson arrivals of all types on a continuous clock, from time 0.

    With one seed, a longer horizon or a larger count only adds prompts at the end.

    Args:
        system: types and their rates; the class index of a prompt is its place among the types.
        rng: a numpy generator or a seed, at least 0. For many runs: one table for each seed.
        horizon: prompts come before this time; above 0.
        count: so many prompts come; only with constant rates. Give one of the two. No more than
            `MOST_PROMPTS` in either case.
        rates: rates that change, instead of those of the types; or factors on these.

    Raises:
        InputError: not one of `horizon` and `count`, a number out of range, rates of other types or
            outside of what they promise, more prompts than `MOST_PROMPTS`, or a horizon before
            which nobody comes.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem, poisson_prompts
        >>> system = WaitSystem([PromptType(2, 3, 1), PromptType(1, 3, 3)], 1, Fraction(1, 64))
        >>> prompts = poisson_prompts(system, rng=0, count=30_000)
        >>> np.bincount(prompts.class_index).tolist()  # 2 to 1
        [20007, 9993]
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
    times, types = poisson_points(own, len(system.types), rng=generator, horizon=until, count=size)
    if size is not None and times.size < size:
        raise InputError("count", count, f"at most the {times.size} that come at finite times")
    if not times.size:
        raise InputError("horizon", horizon, "a time before which somebody comes, with this seed")
    lengths = np.array([(each.input_length, each.output_length) for each in system.types])
    return Requests(lengths[types, 0], lengths[types, 1], arrival=times, class_index=types)


def _rates(system: WaitSystem, rates: VaryingRates | RateSteps | None) -> VaryingRates:
    if isinstance(rates, VaryingRates):
        return rates
    constant = [finite("arrival_rate", each.arrival_rate) for each in system.types]
    finite("arrival_rate", system.arrival_rate)
    if rates is None:
        return VaryingRates.steps([0], [constant])
    if not isinstance(rates, RateSteps):
        raise InputError("rates", rates, "VaryingRates or RateSteps")
    return rates.times_rates(constant)


def _seed(rng: object) -> int:
    if isinstance(rng, bool) or not isinstance(rng, SupportsIndex) or rng.__index__() < 0:
        raise InputError("rng", rng, "a numpy generator, or a seed of at least 0")
    return rng.__index__()
