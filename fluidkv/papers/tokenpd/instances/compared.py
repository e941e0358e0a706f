"""A price against budgets, on record: policies over generated attention, loads and predictors.

Requests come at random, hold a cache of their own and end. Each run has a budget: a share of what
the cache would hold on average if nothing were evicted. A round carries at most so many tokens
over, but under a netted price, whose mean and most use stand beside its quality. The same returns
are also kept within uniform budgets, and in one pool at many budgets, so that use and quality can
be compared at equal means and at equal peaks.

All runs together take minutes, so their measures stand in a table beside this file, which
`comparing` writes.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

GENERATORS = ("recency", "heavy-hitters", "sinks", "topic-shifts", "needle", "mixed", "uneven")
"""`fluidkv.tokenpd.generators`."""
AT_ONCE = (8, 3)
"""Requests that run at once, on average; the first with all predictors."""
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""The budget, of what is held on average if nothing is evicted."""
MIDDLE = 1 / 4
"""The one which alone is run with fewer at once too."""
GRID = (1 / 16, 0.088, 1 / 8, 0.177, 1 / 4, 0.354, 1 / 2, 0.707, 1.0, 1.4, 2.0)
"""Budgets of the pool that a netted price is compared with."""
SEEDS = range(100, 106)
"""No network was trained or measured on these."""
STEPS = (0.03, 0.1, 0.3)
"""eta; 1 / sqrt(T) is 0.03 to 0.06 here."""
START = 0.01
"""mu_1: of the size of a return, so that no price has a long way to go."""

HEURISTICS = ("fifo", "lru", "h2o", "streaming-llm", "snapkv-like", "scissorhands-like")
SCOPES = ("", "-pooled")
MAIN = ("oracle", "average")
"""Predictors that are run with every step, on the whole grid, and with either number at once."""
NOISES = ("noise 0.5", "noise 1", "noise 2")
NETWORKS = ("network", "network, once")
"""Predictors that take long: run with one budget only."""
PREDICTORS = (MAIN[0], *NOISES, MAIN[1], *NETWORKS, "constant")
OPTIMUM = "optimum"
"""Instead of a policy: the most that any choice within the budget keeps, round by round."""


class Job(NamedTuple):
    """Runs, one for each seed. `step` is 0 where nothing is priced, `predictor` "" where nothing is
    predicted."""

    generator: str
    at_once: int
    share: float
    policy: str
    predictor: str = ""
    step: float = 0.0


class Measures(NamedTuple):
    """Means over the rows of generated tokens: share of the attention kept, relative error of the
    output. Of tokens carried over, in units of what would be on average: mean and most over rounds;
    on record where they differ from policy to policy."""

    mass: float
    error: float
    mean_use: float
    peak_use: float


def jobs_of(generator: str, at_once: int) -> Iterator[Job]:
    """All runs of a generator under a load."""
    place = (generator, at_once)
    for share in shares_at(at_once):
        yield Job(*place, share, OPTIMUM)
        yield from (Job(*place, share, name + scope) for name in HEURISTICS for scope in SCOPES)
        for told in told_at(at_once, share):
            yield Job(*place, share, "return", told)
            for kind in ("token-pd-hard", "token-pd"):
                yield from (Job(*place, share, kind, told, step) for step in steps_of(told))
            if told not in NOISES:
                yield Job(*place, share, "token-pd-heap", told, STEPS[1])
    for share in GRID:
        for told in told_at(at_once, share) if share in shares_at(at_once) else MAIN:
            yield Job(*place, share, "return-pooled", told)


def shares_at(at_once: int) -> tuple[float, ...]:
    """Budgets that are run under a load."""
    return SHARES if at_once == AT_ONCE[0] else (MIDDLE,)


def told_at(at_once: int, share: float) -> tuple[str, ...]:
    """Predictors that are run under a load."""
    if at_once != AT_ONCE[0]:
        return MAIN
    return tuple(told for told in PREDICTORS if share == MIDDLE or told not in NETWORKS)


def steps_of(told: str) -> tuple[float, ...]:
    """Steps that are tried with a predictor."""
    return STEPS if told in MAIN else STEPS[1:2]


TABLE = files("fluidkv.papers.tokenpd.instances") / "compared.csv"


@cache
def recorded() -> Mapping[tuple[Job, str], np.ndarray]:
    """A job and a measure -> its values under all seeds, from the table."""
    with TABLE.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return {_key(row): np.array([float(value) for value in row[7:]]) for row in rows}


def _key(row: Sequence[str]) -> tuple[Job, str]:
    generator, at_once, share, name, told, step, measure = row[:7]
    return Job(generator, int(at_once), float(share), name, told, float(step)), measure


def of(job: Job, measure: str = "mass") -> np.ndarray:
    """A measure under all seeds."""
    return recorded()[job, measure]
