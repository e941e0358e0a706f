"""Fresh draws of what asks a server: how many, how long, and what holds for nearly all of them.

Of n draws that all meet a bound, another one misses it with a chance of at most 1 in n + 1, however
the draws are made (the largest of n + 1 alike is the last one no more often than any other). Days
are not draws: they are of what the log is a sample of, and some logs are unlike that.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fluidkv.answers.served.demand import Demand, prompts_of, tables_of
from fluidkv.answers.served.paired import CONFIDENCE
from fluidkv.answers.served.part import busiest, rate_of_trace
from fluidkv.answers.served.population import Population
from fluidkv.errors import InputError
from fluidkv.prefix.prompts import Prompts
from fluidkv.record import Record
from fluidkv.runs.arrivals import poisson
from fluidkv.runs.checks import count
from fluidkv.runs.max_tokens import EXACT, MaxTokens
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.traces import Trace
from fluidkv.workload import Workload

DRAWS = 20
"""Fresh draws where nobody says how many: if all meet a bound, 95 % of others do."""
DRAWS_OF_LOG = 40
"""The same where a bound is to be met on other days of a log."""
LEFT_OPEN = 0.025
"""Share of other days that is given to logs unlike their days, beside that of draws.

An allowance measured on logs of 400 requests, no bound: other logs may be less like their days.

>>> from fluidkv.answers.served.fresh import DRAWS_OF_LOG, LEFT_OPEN, share_of
>>> share_of(DRAWS_OF_LOG, 0, LEFT_OPEN) >= 0.95  # on servers of known truth: docs/size.md
True
"""
HORIZON = 3_000
"""Requests of each where nobody says how many: 30 of them are beyond a 99th percentile."""
NINE_OF_TEN = 0.9
"""Of other draws, how many an interval of counts is to contain, where so few draws allow it.

>>> from fluidkv.answers.served.fresh import NINE_OF_TEN
>>> (20 - 1) / (20 + 1) >= NINE_OF_TEN  # from the least to the most of 20
True
"""
MOST_DRAWS = 1_000
MOST_REQUESTS = 10**6
_STREAM = 34  # beside seeds of runs, so that a draw repeats no run


@dataclass(frozen=True)
class Horizon(Record):
    """How long a draw is.

    Args:
        requests: so many; None: `seconds` say it, or nobody does.
        seconds: so long, at the rate that is served; None: as above.
    """

    requests: int | None = None
    seconds: float | None = None

    def of(self, rate: float, usual: int = HORIZON) -> int:
        """Requests at a rate.

        Raises:
            InputError: less than one, or more than a million.
        """
        size = self.requests or usual
        if self.seconds is not None:
            size = math.ceil(self.seconds * rate)
        if not 1 <= size <= MOST_REQUESTS:
            raise InputError("horizon", f"{size:,} requests", f"1 to {MOST_REQUESTS:,} requests")
        return size


@dataclass(frozen=True)
class Stretch(Record):
    """The part of a trace that draws are like.

    Fields:
        requests: how many it has; of: how many the trace has.
        rate, rate_of_all: arrivals a second, at the trace's own times.
        arrivals: how they come, in words.
    """

    requests: int
    of: int
    rate: float
    rate_of_all: float
    arrivals: str


def draws_of(draws: int | None, usual: int = DRAWS) -> int:
    """How many: what was asked for, checked, or the usual number; 0: none."""
    return usual if draws is None else count("draws", draws, least=0, most=MOST_DRAWS)


def misses_allowed(draws: int, left_open: float = 0.0) -> int:
    """Of so many draws, how many may miss a bound that nearly every other day is to meet.

    Args:
        left_open: share of days that draws say nothing of: `LEFT_OPEN` of a log's.

    Examples:
        >>> from fluidkv.answers.served.fresh import misses_allowed
        >>> [misses_allowed(n) for n in (5, 20, 39, 100)]
        [0, 0, 1, 4]
    """
    return max(0, math.floor((1 - CONFIDENCE - left_open) * (draws + 1) + 1e-9) - 1)


def share_of(draws: int, misses: int, left_open: float = 0.0) -> float:
    """Of other draws, at least so many meet what all but `misses` of these did.

    Args:
        left_open: of days of a log less by so much, which makes it an estimate: `LEFT_OPEN`.

    Examples:
        >>> from fluidkv.answers.served.fresh import share_of
        >>> round(share_of(20, 0), 3), share_of(3, 0)
        (0.952, 0.75)
    """
    return max(0.0, 1 - (misses + 1) / (draws + 1) - left_open)


def spread(values: Float[np.ndarray, " draw"]) -> tuple[float, float]:
    """From where to where nine of ten other draws lie: by rank, as many left out below as above.

    Of 20 draws or fewer, from the least to the most.

    Examples:
        >>> from fluidkv.answers.served.fresh import spread
        >>> spread(np.arange(20.0)), spread(np.arange(40.0))
        ((0.0, 19.0), (1.0, 38.0))
    """
    order = np.sort(values)
    gaps = _gaps(len(values))
    first = (len(values) - 1 - gaps) // 2
    return float(order[first]), float(order[first + gaps])


def share_in(draws: int) -> float:
    """Of other draws, how many the interval of so many holds.

    Examples:
        >>> from fluidkv.answers.served.fresh import share_in
        >>> [round(share_in(draws), 2) for draws in (5, 20, 40)]
        [0.67, 0.9, 0.9]
    """
    return _gaps(draws) / (draws + 1)


def _gaps(draws: int) -> int:
    """How many of the draws + 1 gaps between draws, in order, the interval has."""
    return min(draws - 1, math.ceil(NINE_OF_TEN * (draws + 1) - 1e-9))


@dataclass(frozen=True, eq=False)
class Days(Record):
    """Fresh draws of what is like a trace, as runs.

    Fields:
        tables, prompts: of each.
        stretch: what they are like; None: a mix that is known.
    """

    tables: Sequence[Requests]
    prompts: Sequence[Prompts | None]
    stretch: Stretch | None

    @property
    def requests(self) -> int:
        """Of the largest."""
        return max(map(len, self.tables))

    @property
    def widen(self) -> float:
        """By how much an interval of a mean over draws is too narrow for what the log is a draw of.

        More draws do not make the log longer. Of the variance between draws of m requests from a
        log of n, by weights of its own in each, m / (m + n) is what the log leaves open: that does
        not fall as 1 / draws.
        """
        if self.stretch is None:
            return 1.0
        open_share = self.requests / (self.requests + self.stretch.requests)
        return math.sqrt(1 + len(self.tables) * open_share)


def days_like(
    trace: Trace,
    draws: int,
    horizon: Horizon,
    demand: Demand,
    clock: IterationClock,
    *,
    usual: int = HORIZON,
    caching: bool = False,
    known: bool = False,
    seed: int = 0,
) -> Days:
    """Draws of the busiest stretch of a trace with times, as long as a draw.

    Args:
        demand: a replay, at some speed.
        usual: requests of a draw where nobody says how long.
        caching: whether an engine looks at prompts.
        known: whether the rate is a given one, and not as uncertain as a log of this length is.
    """
    whole = rate_of_trace(trace)
    size = horizon.of(whole * demand.speed, usual)
    stretch = busiest(trace, size)
    population, rate = Population.of(stretch), rate_of_trace(stretch)
    mix = stretch.workload()  # a replay has its own lengths
    tables: list[Requests] = []
    prompts: list[Prompts | None] = []
    for place in range(draws):
        seeds, own = (seed, _STREAM, place), rate if known else None
        day = population.draw(size, seed=seeds, rate=own, shares=caching)
        tables += tables_of(day, mix, demand, clock, len(day), 1, seed + place)
        prompts += prompts_of(day, demand, tables[-1:], caching)
    like = Stretch(len(stretch), len(trace), rate, whole, str(population.arrivals))
    return Days(tables, prompts, like)


def fresh_of_mix(
    workload: Workload,
    draws: int,
    horizon: Horizon,
    rate: float,
    *,
    per_iteration: bool,
    asks: MaxTokens = EXACT,
    seed: int = 0,
) -> list[Requests]:
    """Poisson arrivals of a mix of lengths that is known."""
    size = horizon.of(rate)
    streams = [np.random.default_rng((seed, _STREAM, place)) for place in range(draws)]
    tables = [poisson(workload, rate, size, rng=r, per_iteration=per_iteration) for r in streams]
    return [asks.of(table, seed + place) for place, table in enumerate(tables)]
