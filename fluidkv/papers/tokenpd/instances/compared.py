"""A price against budgets, on record: policies over generated attention, loads and predictors.

Requests come at random, hold a cache of their own and end. Each run has a budget: a share of what
the cache would hold on average if nothing were evicted. A round carries at most so many tokens
over, but under a netted price, whose mean and most use stand beside its quality. The same returns
are also kept within uniform budgets, and in one pool at many budgets, so that use and quality can
be compared at equal means and at equal peaks.

All runs together take half an hour, so their measures stand in a table beside this file; tests
compute some of them again. The table is written anew by

    python -m fluidkv.papers.tokenpd.instances.compared
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fluidkv.runs.precision import random_key
from fluidkv.tokenpd.attention.generators.presets import generators
from fluidkv.tokenpd.attention.generators.structure import generated
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.eviction.named import policy
from fluidkv.tokenpd.eviction.policy import EvictionPolicy
from fluidkv.tokenpd.eviction.run import evict
from fluidkv.tokenpd.pricing import Pricing
from fluidkv.tokenpd.returns.averages import ExponentialAverage
from fluidkv.tokenpd.returns.known import Constant, NoisyOracle, Oracle
from fluidkv.tokenpd.returns.mlp import trained_mlp
from fluidkv.tokenpd.returns.writing import AtWriting
from fluidkv.tokenpd.seen import Predictor

GENERATORS = tuple(generators())
AT_ONCE = (8, 3)
"""Requests that run at once, on average; the first with all predictors."""
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""The budget, of what is held on average if nothing is evicted."""
GRID = (1 / 16, 0.088, 1 / 8, 0.177, 1 / 4, 0.354, 1 / 2, 0.707, 1.0, 1.4, 2.0)
"""Budgets of the pool that a netted price is compared with."""
SEEDS = range(100, 106)
"""No network was trained or measured on these."""
STEPS = (0.03, 0.1, 0.3)
"""eta; 1 / sqrt(T) is 0.03 to 0.06 here."""
START = 0.01
"""mu_1: of the size of a return, so that no price has a long way to go."""
REQUESTS, KEYS = 16, 160
PROMPT, LENGTH = (24, 40), (64, KEYS)

HEURISTICS = ("fifo", "lru", "h2o", "streaming-llm", "snapkv-like", "scissorhands-like")
SCOPES = ("", "-pooled")
MAIN = ("oracle", "average")
"""Predictors that are run with every step, on the whole grid, and with either number at once."""
NOISES = ("noise 0.5", "noise 1", "noise 2")
NETWORKS = ("network", "network, once")
"""Predictors that take long: run with one budget only."""
NETWORK_SHARE = 1 / 4


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


OPTIMUM = "optimum"
"""Instead of a policy: the most that any choice within the budget keeps, round by round."""


@cache
def predictors() -> Mapping[str, Predictor]:
    """Who says what tokens will be worth."""
    return {
        "oracle": Oracle(),
        "noise 0.5": NoisyOracle(0.5),
        "noise 1": NoisyOracle(1.0),
        "noise 2": NoisyOracle(2.0),
        "average": ExponentialAverage(1 / 8),
        "network": trained_mlp(),
        "network, once": AtWriting(trained_mlp()),
        "constant": Constant(START),
    }


def attention_of(generator: str, at_once: int, seed: int) -> Attention:
    """Requests that come at random, so that `at_once` of them run on average."""
    rounds = (sum(LENGTH) - sum(PROMPT)) / 2 + 1
    found = generated(
        generators()[generator],
        seed,
        requests=REQUESTS,
        prompt=PROMPT,
        length=LENGTH,
        gap=rounds / at_once,
        poisson=True,
    )
    missing = KEYS - found.weights.shape[1]
    return replace(found, weights=np.pad(found.weights, ((0, 0), (0, missing), (0, missing))))


def held(attention: Attention) -> np.ndarray:
    """Tokens carried over after each round if nothing is evicted, where a request goes on."""
    age = np.arange(attention.rounds)[:, None] - attention.start
    goes_on = (age >= 0) & (age < attention.length - attention.prompt)
    tokens = np.where(goes_on, attention.prompt + age, 0).sum(1)
    return tokens[goes_on.any(1)]


def jobs_of(generator: str, at_once: int) -> Iterator[Job]:
    """All runs of a generator under a load."""
    place = (generator, at_once)
    for share in SHARES:
        yield Job(*place, share, OPTIMUM)
        yield from (Job(*place, share, name + scope) for name in HEURISTICS for scope in SCOPES)
        for told in told_at(at_once, share):
            yield Job(*place, share, "return", told)
            for kind in ("token-pd-hard", "token-pd"):
                yield from (Job(*place, share, kind, told, step) for step in steps_of(told))
            if told not in NOISES:
                yield Job(*place, share, "token-pd-heap", told, STEPS[1])
    for share in GRID:
        for told in told_at(at_once, share) if share in SHARES else MAIN:
            yield Job(*place, share, "return-pooled", told)


def told_at(at_once: int, share: float) -> tuple[str, ...]:
    """Predictors that are run under a load."""
    if at_once != AT_ONCE[0]:
        return MAIN
    return tuple(x for x in predictors() if share == NETWORK_SHARE or x not in NETWORKS)


def steps_of(told: str) -> tuple[float, ...]:
    """Steps that are tried with a predictor."""
    return STEPS if told in MAIN else STEPS[1:2]


def policy_of(job: Job) -> EvictionPolicy:
    """What it runs."""
    if not job.predictor:
        return policy("full" if job.policy == OPTIMUM else job.policy)
    pricing = Pricing(job.step or STEPS[1], START)
    return policy(job.policy, predictors()[job.predictor], pricing)


def measured(jobs: Sequence[Job], seed: int) -> list[Measures]:
    """Run jobs of one generator and load."""
    (place,) = {job[:2] for job in jobs}
    attention = attention_of(*place, seed)
    whole = held(attention).mean()
    budgets = [max(1, round(job.share * whole)) for job in jobs]
    run = evict(
        attention, budgets, [policy_of(job) for job in jobs], key=[random_key(seed)] * len(jobs)
    )
    last = int(np.flatnonzero(run.rows[0])[-1])  # in this round the last request ends
    use = run.kept[:, :last] / whole
    best = np.array([job.policy == OPTIMUM for job in jobs])
    mass = np.where(best, run.mean_optimum, run.mean_mass)
    error = np.where(best, np.nan, run.mean_error)
    columns = mass, error, use.mean(1), use.max(1)
    return [Measures(*map(float, row)) for row in zip(*columns, strict=True)]


@cache
def recorded() -> Mapping[tuple[Job, str], np.ndarray]:
    """A job and a measure -> its values under all seeds, from the table."""
    with (_FOLDER / _TABLE).open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return {_key(row): np.array([float(value) for value in row[7:]]) for row in rows}


def _key(row: Sequence[str]) -> tuple[Job, str]:
    generator, at_once, share, name, told, step, measure = row[:7]
    return Job(generator, int(at_once), float(share), name, told, float(step)), measure


def of(job: Job, measure: str = "mass") -> np.ndarray:
    """A measure under all seeds."""
    return recorded()[job, measure]


_TABLE = "compared.csv"
_FOLDER = files("fluidkv.papers.tokenpd.instances")


def record(say: Callable[[str], None] = print) -> None:
    """Run all jobs and write the table."""
    with Path(str(_FOLDER / _TABLE)).open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file, lineterminator="\n")
        write.writerow((*Job._fields, "measure", *SEEDS))
        for at_once in AT_ONCE:
            for generator in GENERATORS:
                jobs = list(jobs_of(generator, at_once))
                found = [measured(jobs, seed) for seed in SEEDS]
                for job, *runs in zip(jobs, *found, strict=True):
                    write.writerows(_lines(job, runs))
                file.flush()
                say(f"{generator}, {at_once} at once")


def _lines(job: Job, runs: Sequence[Measures]) -> Iterator[list[object]]:
    spent = job.policy in ("token-pd", "return-pooled")
    for name in Measures._fields if spent else ("mass", "error"):
        if job.policy != OPTIMUM or name == "mass":
            yield [*job, name, *(f"{getattr(run, name):.4g}" for run in runs)]


if __name__ == "__main__":
    record()
