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
from fluidkv.tokenpd.seen import Predictor

GENERATORS = tuple(generators())
AT_ONCE = (2, 8)
"""Requests that run at once, on average."""
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""The budget, of what is held on average if nothing is evicted."""
GRID = (1 / 16, 0.088, 1 / 8, 0.177, 1 / 4, 0.354, 1 / 2, 0.707, 1.0, 1.4)
"""Budgets of the pool that a netted price is compared with."""
SEEDS = range(100, 105)
"""No network was trained or measured on these."""
STEPS = (0.03, 0.1, 0.3)
"""eta; 1 / sqrt(T) is some 0.05 here."""
START = 0.01
"""mu_1: of the size of a return, so that no price has a long way to go."""
REQUESTS, KEYS = 16, 192
PROMPT, LENGTH = (32, 48), (64, KEYS)

HEURISTICS = ("fifo", "lru", "h2o", "streaming-llm", "snapkv-like", "scissorhands-like")
SCOPES = ("", "-pooled")
MAIN = ("oracle", "average")
"""Predictors that are run with every step and on the whole grid."""


class Job(NamedTuple):
    """A run. `step` is 0 where nothing is priced, `predictor` "" where nothing is predicted."""

    generator: str
    at_once: int
    seed: int
    share: float
    policy: str
    predictor: str = ""
    step: float = 0.0


class Measures(NamedTuple):
    """Means over the rows of generated tokens: share of the attention kept, relative error of the
    output; of tokens carried over, over what would be on average: mean and most over rounds; and
    the share of attention that the best choice in each round keeps within the budget."""

    mass: float
    error: float
    mean_use: float
    peak_use: float
    optimum: float


def predictors() -> dict[str, Predictor]:
    """Who says what tokens will be worth."""
    return {
        "oracle": Oracle(),
        "noise 0.5": NoisyOracle(0.5),
        "noise 1": NoisyOracle(1.0),
        "noise 2": NoisyOracle(2.0),
        "average": ExponentialAverage(1 / 8),
        "network": trained_mlp(),
        "constant": Constant(START),
    }


def attention_of(generator: str, at_once: int, seed: int) -> Attention:
    """Requests that come at random, so that `at_once` of them run on average."""
    rounds = (LENGTH[0] + LENGTH[1] - PROMPT[0] - PROMPT[1]) / 2 + 1
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


def jobs_of(generator: str, at_once: int, seed: int) -> Iterator[Job]:
    """All runs on one attention."""
    place = (generator, at_once, seed)
    for share in SHARES:
        for name in HEURISTICS:
            yield from (Job(*place, share, name + scope) for scope in SCOPES)
        for told in predictors():
            yield Job(*place, share, "return", told)
            for name in ("token-pd-hard", "token-pd"):
                for step in STEPS if told in MAIN else STEPS[1:2]:
                    yield Job(*place, share, name, told, step)
        yield from (Job(*place, share, "token-pd-heap", told, STEPS[1]) for told in predictors())
    for told in predictors():
        for share in GRID if told in MAIN else SHARES:
            yield Job(*place, share, "return-pooled", told)


def policy_of(job: Job) -> EvictionPolicy:
    """What it runs."""
    if not job.predictor:
        return policy(job.policy)
    pricing = Pricing(job.step or STEPS[1], START)
    return policy(job.policy, predictors()[job.predictor], pricing)


def measured(jobs: Sequence[Job]) -> list[Measures]:
    """Run jobs, all on one attention."""
    (place,) = {job[:3] for job in jobs}
    attention = attention_of(*place)
    whole = held(attention).mean()
    budgets = [max(1, round(job.share * whole)) for job in jobs]
    key = random_key(place[2])
    run = evict(attention, budgets, [policy_of(job) for job in jobs], key=[key] * len(jobs))
    runs = run.rows[0] > 0  # rounds in which a token is generated; after the last nothing is held
    use = run.kept[:, : runs.nonzero()[0][-1]] / whole
    columns = run.mean_mass, run.mean_error, use.mean(1), use.max(1), run.mean_optimum
    return [Measures(*map(float, row)) for row in zip(*columns, strict=True)]


@cache
def recorded() -> Mapping[Job, Measures]:
    """All runs, from the table."""
    with (_FOLDER / _TABLE).open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return dict(map(_read, rows))


def _read(row: Sequence[str]) -> tuple[Job, Measures]:
    generator, at_once, seed, share, name, told, step, *measures = row
    job = Job(generator, int(at_once), int(seed), float(share), name, told, float(step))
    return job, Measures(*map(float, measures))


def of(
    measure: str, generator: str, at_once: int, share: float, name: str, told: str = "",
    step: float = 0.0,
) -> np.ndarray:  # fmt: skip
    """A measure under all seeds."""
    found = recorded()
    jobs = (Job(generator, at_once, seed, share, name, told, step) for seed in SEEDS)
    return np.array([getattr(found[job], measure) for job in jobs])


_TABLE = "compared.csv"
_FOLDER = files("fluidkv.papers.tokenpd.instances")


def record(say: Callable[[str], None] = print) -> None:
    """Run all jobs and write the table."""
    with Path(str(_FOLDER / _TABLE)).open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file, lineterminator="\n")
        write.writerow((*Job._fields, *Measures._fields))
        for at_once in AT_ONCE:
            for generator in GENERATORS:
                for seed in SEEDS:
                    jobs = list(jobs_of(generator, at_once, seed))
                    for job, measures in zip(jobs, measured(jobs), strict=True):
                        write.writerow((*job, *(f"{value:.4g}" for value in measures)))
                    file.flush()
                    say(f"{generator} {at_once} {seed}")


if __name__ == "__main__":
    record()
