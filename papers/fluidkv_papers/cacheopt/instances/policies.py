"""Preemption policies of section 2.4 in simulation, on record: what Figure 7 compares.

The paper says neither how much memory its methods had nor how far predictions were off. Here memory
and arrival rates are scaled down together, until requests compete; the clock is modelled
(`opt_13b`); predictions err by a log-normal factor, 0.6 wide. RLP gives the prediction and 100
tokens, and past that a block at a time, where somebody must go: that policies choose at all, and
not each request that has outgrown its estimate goes itself, is our reading of section 2.4. Without
the padding requests compete more.

All runs together take minutes, so their measures stand in a table beside this file; tests compute
some of them again, and all of them as a deeper check. The table is written anew by
`python -m fluidkv_papers.cacheopt.instances.policies`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from fluidkv.preempt.padding.rules import ConstantPadding, with_estimates
from fluidkv.preempt.predictors.noise import LogNormalNoise
from fluidkv.preempt.predictors.predictor import with_predictions
from fluidkv.serving.engines import RLP
from fluidkv.serving.rules import Allocation, Victim
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv_papers.cacheopt.instances import opt_13b, table_1
from fluidkv_papers.records import Table


@dataclass(frozen=True)
class Part:
    """How much of memory and of the printed rate is simulated, one part in so many each; and how
    many requests come."""

    memory: int
    traffic: int
    requests: int


PARTS: Mapping[str, Part] = MappingProxyType(
    {
        "alpaca": Part(40, 1, 300),
        "sharegpt": Part(15, 15, 100),
        "bookcorpus": Part(8, 8, 40),
    }
)
POLICIES: Mapping[str, Victim] = MappingProxyType(
    {
        "fcfs": Victim.LAST_ADMITTED,
        "srtf": Victim.LONGEST_REMAINING,
        "lkvo": Victim.FEWEST_BLOCKS,
        "least computed": Victim.LEAST_COMPUTED,
    }
)
"""Section 2.4. What "occupied" means for LKVO is open where memory is given ahead: blocks held, or
tokens stored."""
PADDINGS = (100, 0)
SEEDS = range(6)
NOISE = 0.6


class Job(NamedTuple):
    """One run."""

    trace: str
    padding: int
    policy: str
    seed: int


class Measures(NamedTuple):
    """Of a run: preemptions; P99 over all requests of the time that each was halted, s; tokens
    computed again, of all tokens computed."""

    preempt: float
    halted_p99: float
    tax: float


def jobs() -> Iterator[Job]:
    """All runs of the table, in its order."""
    for trace in PARTS:
        for padding in PADDINGS:
            for policy in POLICIES:
                yield from (Job(trace, padding, policy, seed) for seed in SEEDS)


def run_of(job: Job) -> Measures:
    """Run it."""
    part = PARTS[job.trace]
    rate = table_1.number(table_1.TABLE_1[job.trace].rate) / part.traffic
    capacity = opt_13b.CAPACITY // part.memory // opt_13b.BLOCK_SIZE * opt_13b.BLOCK_SIZE
    table = table_1.requests_of(job.trace, rate, part.requests, job.seed)
    # The longest prompts of Alpaca and ShareGPT do not fit in the scaled memory.
    table = replace(table, input_length=np.minimum(table.input_length, capacity // 3))
    table = with_predictions(table, LogNormalNoise(NOISE), seed=job.seed)
    table = with_estimates(table, ConstantPadding(job.padding), seed=job.seed)
    rules = replace(RLP, victim=POLICIES[job.policy], allocation=Allocation.ESTIMATE_THEN_BLOCKS)
    limits, clock = opt_13b.limits(capacity), opt_13b.clock()
    run = serve(table, Server(rules, limits, clock=clock, backend="reference"), iterations=_HORIZON)
    if int(run.served[0]) < len(table):
        raise ValueError(f"{job} did not end")
    return Measures(
        float(run.preempt.sum()),
        float(np.quantile(run.halted.values[0], 0.99)),
        float(run.recomputed_tokens.sum() / run.tokens.sum()),
    )


_HORIZON = 100_000
_TABLE = Table(__file__)


@cache
def recorded() -> Mapping[Job, Measures]:
    """All runs, from the table."""
    return dict(zip(_TABLE.rows(Job), _TABLE.rows(Measures), strict=True))


def of(trace: str, padding: int, policy: str, measure: str) -> np.ndarray:
    """A measure under all seeds."""
    found = recorded()
    return np.array([getattr(found[Job(trace, padding, policy, s)], measure) for s in SEEDS])


def factor(trace: str, padding: int, policy: str, measure: str) -> tuple[float, float, float]:
    """FCFS over a policy: of the sums over seeds, and its least and greatest leaving out one seed.

    NaN where the policy has nothing.
    """
    first, other = of(trace, padding, "fcfs", measure), of(trace, padding, policy, measure)
    with np.errstate(divide="ignore", invalid="ignore"):
        without = (first.sum() - first) / (other.sum() - other)
        return float(first.sum() / other.sum()), float(without.min()), float(without.max())


if __name__ == "__main__":
    _TABLE.write((*Job._fields, *Measures._fields), ((*job, *run_of(job)) for job in jobs()))
