"""A price against budgets, on record: policies over generated attention, loads and predictors.

Requests come at random, hold a cache of their own and end. Each run has a budget: a share of what
the cache would hold on average if nothing were evicted. A round carries at most so many tokens
over, but under a netted price, whose mean and most use stand beside its quality. The same returns
are also kept within uniform budgets, and in one pool at many budgets, so that use and quality can
be compared at equal means and at equal peaks.

There are two sizes, told apart by how many requests run at once. All runs of one take minutes, so
their measures stand in tables beside this file, which `comparing` writes.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from fluidkv_papers.records import Table

GENERATORS = ("recency", "heavy-hitters", "sinks", "topic-shifts", "needle", "mixed", "uneven")
"""`fluidkv.tokenpd.generators`."""


class Size(NamedTuple):
    """How much is run: requests of a run, tokens of their prompts and of all at the end (least and
    most), how many run at once on average, seeds; and its table."""

    requests: int
    prompt: tuple[int, int]
    length: tuple[int, int]
    at_once: tuple[int, ...]
    seeds: range
    table: Table


# No network was trained or measured on these seeds.
SMALL = Size(16, (24, 40), (64, 160), (8, 3), range(100, 106), Table(__file__, digits=4))
LARGE = Size(64, (48, 80), (128, 320), (32,), range(100, 104), Table(__file__, "compared_large", 4))
SIZES = {"small": SMALL, "large": LARGE}
AT_ONCE = SMALL.at_once
"""The first with all predictors."""
SEEDS = SMALL.seeds
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""The budget, of what is held on average if nothing is evicted."""
MIDDLE = 1 / 4
"""The one which alone is run with fewer at once too."""
GRID = (1 / 16, 0.088, 1 / 8, 0.177, 1 / 4, 0.354, 1 / 2, 0.707, 1.0, 1.4, 2.0)
"""Budgets of the pool that a netted price is compared with."""
LARGE_SHARES, LARGE_GRID = SHARES[1:3], GRID[2:8]
"""Those of the larger size."""
STEPS = (0.03, 0.1, 0.3)
"""eta; 1 / sqrt(T) is 0.03 to 0.06 here, in either size."""
START = 0.01
"""mu_1: of the size of a return, so that no price has a long way to go."""

HEURISTICS = ("fifo", "lru", "h2o", "streaming-llm", "snapkv-like", "scissorhands-like")
LARGE_HEURISTICS = ("fifo", "h2o", "streaming-llm")
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
    if at_once in LARGE.at_once:
        yield from _large_jobs(generator, at_once)
        return
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


def _large_jobs(generator: str, at_once: int) -> Iterator[Job]:
    """Of the larger size: what its comparisons take; oracles and netted prices in one budget."""
    place = (generator, at_once)
    oracle, average = MAIN
    for share in shares_at(at_once):
        yield from (Job(*place, share, name) for name in LARGE_HEURISTICS)
        for told in told_at(at_once, share):
            yield Job(*place, share, "return", told)
            yield from (Job(*place, share, "token-pd-hard", told, step) for step in STEPS)
    yield from (Job(*place, MIDDLE, "token-pd", average, step) for step in STEPS)
    yield Job(*place, MIDDLE, "return-pooled", oracle)
    yield from (Job(*place, share, "return-pooled", average) for share in grid_at(at_once))


def size_at(at_once: int) -> Size:
    """Which size runs so many at once."""
    return next(size for size in SIZES.values() if at_once in size.at_once)


def grid_at(at_once: int) -> tuple[float, ...]:
    """Budgets of the pool that a netted price is compared with."""
    return LARGE_GRID if at_once in LARGE.at_once else GRID


def shares_at(at_once: int) -> tuple[float, ...]:
    """Budgets that are run under a load."""
    if at_once in LARGE.at_once:
        return LARGE_SHARES
    return SHARES if at_once == AT_ONCE[0] else (MIDDLE,)


def told_at(at_once: int, share: float) -> tuple[str, ...]:
    """Predictors that are run under a load."""
    if at_once in LARGE.at_once and share != MIDDLE:
        return MAIN[1:]
    if at_once != AT_ONCE[0]:
        return MAIN
    return tuple(told for told in PREDICTORS if share == MIDDLE or told not in NETWORKS)


def steps_of(told: str) -> tuple[float, ...]:
    """Steps that are tried with a predictor."""
    return STEPS if told in MAIN else STEPS[1:2]


@cache
def recorded() -> Mapping[tuple[Job, str], np.ndarray]:
    """A job and a measure -> its values under all seeds of its size, from the tables."""
    return {
        (job, line["measure"]): np.array([float(line[str(seed)]) for seed in size.seeds])
        for size in SIZES.values()
        for job, line in zip(size.table.rows(Job), size.table.lines(), strict=True)
    }


def of(job: Job, measure: str = "mass") -> np.ndarray:
    """A measure under all seeds."""
    return recorded()[job, measure]
