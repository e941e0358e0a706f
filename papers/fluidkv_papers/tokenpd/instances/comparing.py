"""The runs of `compared`, run.

python -m fluidkv_papers.tokenpd.instances.comparing small           writes its table: half an hour
python -m fluidkv_papers.tokenpd.instances.comparing small network   runs these predictors anew
python -m fluidkv_papers.tokenpd.instances.comparing large           a quarter of an hour
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

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
from fluidkv_papers.tokenpd.instances import compared as bench


@cache
def predictors() -> Mapping[str, Predictor]:
    """Who says what tokens will be worth."""
    noisy = {name: NoisyOracle(float(name.removeprefix("noise "))) for name in bench.NOISES}
    network = trained_mlp()
    told = (
        *(Oracle(), *noisy.values(), ExponentialAverage(1 / 8)),
        *(network, AtWriting(network), Constant(bench.START)),
    )
    return dict(zip(bench.PREDICTORS, told, strict=True))


def attention_of(generator: str, at_once: int, seed: int) -> Attention:
    """Requests that come at random, so that `at_once` of them run on average."""
    size = bench.size_at(at_once)
    rounds = (sum(size.length) - sum(size.prompt)) / 2 + 1
    found = generated(
        generators()[generator],
        seed,
        requests=size.requests,
        prompt=size.prompt,
        length=size.length,
        gap=rounds / at_once,
        poisson=True,
    )
    missing = size.length[1] - found.weights.shape[1]
    return replace(found, weights=np.pad(found.weights, ((0, 0), (0, missing), (0, missing))))


def held(attention: Attention) -> np.ndarray:
    """Tokens carried over after each round if nothing is evicted, where a request goes on."""
    age = np.arange(attention.rounds)[:, None] - attention.start
    goes_on = (age >= 0) & (age < attention.length - attention.prompt)
    tokens = np.where(goes_on, attention.prompt + age, 0).sum(1)
    return tokens[goes_on.any(1)]


def policy_of(job: bench.Job) -> EvictionPolicy:
    """What it runs."""
    if not job.predictor:
        return policy("full" if job.policy == bench.OPTIMUM else job.policy)
    pricing = Pricing(job.step or bench.STEPS[1], bench.START)
    return policy(job.policy, predictors()[job.predictor], pricing)


def measured(jobs: Sequence[bench.Job], seed: int) -> list[bench.Measures]:
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
    best = np.array([job.policy == bench.OPTIMUM for job in jobs])
    mass = np.where(best, run.mean_optimum, run.mean_mass)
    columns = mass, run.mean_error, use.mean(1), use.max(1)
    return [bench.Measures(*map(float, row)) for row in zip(*columns, strict=True)]


def record(size: bench.Size, only: Sequence[str] = (), say: Callable[[str], None] = print) -> None:
    """Run all jobs of a size and write its table.

    Args:
        only: predictors; of other jobs the table keeps what it has.
    """
    kept = bench.recorded() if only else {}
    lines: list[list[object]] = []
    for at_once in size.at_once:
        for generator in bench.GENERATORS:
            jobs = list(bench.jobs_of(generator, at_once))
            anew = [job for job in jobs if not only or job.predictor in only]
            runs = zip(*(measured(anew, seed) for seed in size.seeds), strict=True) if anew else ()
            found = dict(zip(anew, runs, strict=True))
            for job in jobs:
                lines.extend(_lines(job, found[job]) if job in found else _kept(job, kept))
            say(f"{generator}, {at_once} at once")
    size.table.write((*bench.Job._fields, "measure", *map(str, size.seeds)), lines)


def _measures_of(job: bench.Job) -> tuple[str, ...]:
    if job.policy == bench.OPTIMUM:
        return bench.Measures._fields[:1]
    return (
        bench.Measures._fields
        if job.policy in ("token-pd", "return-pooled")
        else bench.Measures._fields[:2]
    )


def _lines(job: bench.Job, runs: Sequence[bench.Measures]) -> Iterator[list[object]]:
    for name in _measures_of(job):
        yield [*map(str, job), name, *(getattr(run, name) for run in runs)]


def _kept(
    job: bench.Job, kept: Mapping[tuple[bench.Job, str], np.ndarray]
) -> Iterator[list[object]]:
    yield from ([*map(str, job), name, *kept[job, name]] for name in _measures_of(job))


if __name__ == "__main__":
    record(bench.SIZES[sys.argv[1]], sys.argv[2:])
