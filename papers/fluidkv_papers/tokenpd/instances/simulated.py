"""Tables 1 and 2 in simulation: what memory a policy needs to keep as much attention, on record.

The paper's model, texts and budgets are not known, and perplexity cannot be computed here. So
quality is the share of attention that is kept, and what is compared is the least budget with which
a policy keeps 80, 90 or 95 % of it: the peak of its memory at equal quality. Attention is
generated; streams run side by side, 32 of the paper's for one of ours. Token-PD is section 5's
heap in one pool with a network that predicts once, when a token is written; the rule is (4) with
(5) under a hard budget. Baselines have equal shares for all streams, as the paper says of them.

The runs take minutes, so the table stands beside this file; tests compute some of them again. It is
written anew by `python -m fluidkv_papers.tokenpd.instances.simulated`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from fluidkv import tokenpd
from fluidkv.tokenpd import returns
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.eviction.policy import EvictionPolicy
from fluidkv_papers.records import Table
from fluidkv_papers.tokenpd.instances.tables import LOADS

STRUCTURES = ("recency", "heavy-hitters", "topic-shifts", "mixed")
PER_STREAM = 32
"""Streams of the paper for one of ours."""
SEEDS = range(200, 203)
PROMPT, LENGTH = (24, 48), (64, 96)
SHARES = (0.05, *(n / 10 for n in range(1, 11)))
"""Budgets, of what is held at most if nothing is evicted."""
LEVELS = (80, 90, 95)
"""Per cent of attention kept."""
AVERSIONS = (0.0, 0.25, 0.5)
"""lambda of section 6, from 0 to 0.5."""
START = 0.001
"""mu_1: below a return of most tokens, so that a price has to rise."""
RETURN = 0.01
"""What the constant says."""
BASELINES = ("fifo", "lru", "h2o")
OURS, RULE, CONSTANT, ORACLE = "token-pd", "rule", "constant", "oracle"
POLICIES = (*BASELINES, OURS, CONSTANT, ORACLE)
AT_256 = (f"{OURS} 0", f"{OURS} 0.5", RULE)
"""Of section 6's ablation, and the rule."""


class Job(NamedTuple):
    """Runs with each budget, under one seed."""

    structure: str
    load: int
    policy: str
    seed: int


Needed = dict[int, float]
"""By per cent kept: the least budget, as a share; infinite where none does."""


def attention_of(structure: str, load: int, seed: int) -> Attention:
    """Streams that start together; arrays of one shape for all loads, for one compilation."""
    streams, most = load // PER_STREAM, LOADS[-1] // PER_STREAM
    found = tokenpd.generated(
        tokenpd.generators()[structure], seed, requests=streams, prompt=PROMPT, length=LENGTH
    )
    missing, keys = most - streams, LENGTH[1] - found.weights.shape[1]
    weights = np.pad(found.weights, ((0, missing), (0, keys), (0, keys)))
    weights[streams:, 0, 0] = 1
    one = np.ones(missing, int)  # a stream of one token, which ends as it starts
    return replace(
        found,
        weights=weights,
        prompt=np.concatenate([found.prompt, one]),
        length=np.concatenate([found.length, one]),
        start=np.concatenate([found.start, 0 * one]),
        request=np.arange(most),
    )


def most_held(attention: Attention) -> int:
    """Tokens, if nothing is evicted."""
    age = np.arange(attention.rounds)[:, None] - attention.start
    goes_on = age < attention.length - attention.prompt
    return int(np.where(goes_on, attention.prompt + age, 0).sum(1).max())


def policy_of(name: str, rounds: int) -> EvictionPolicy:
    """What it runs, for so many rounds: eta is 1 / sqrt(T)."""
    if name in BASELINES:
        return tokenpd.policy(name)
    known = {CONSTANT: tokenpd.Constant(RETURN), ORACLE: tokenpd.Oracle()}
    predictor = known.get(name) or tokenpd.AtWriting(returns.mlp.trained_mlp())
    aversion = float(name.removeprefix(OURS) or AVERSIONS[1]) if name.startswith(OURS) else 0.25
    pricing = tokenpd.Pricing(rounds**-0.5, START, risk_aversion=aversion)
    return tokenpd.policy("token-pd-hard" if name == RULE else "token-pd-heap", predictor, pricing)


def computed(job: Job) -> Needed:
    """Run a job with all budgets."""
    attention = attention_of(job.structure, job.load, job.seed)
    whole = most_held(attention)
    budgets = [max(1, round(share * whole)) for share in SHARES]
    run = tokenpd.evict(attention, budgets, policy_of(job.policy, attention.rounds))
    return {level: needed(run.mean_mass, level / 100) for level in LEVELS}


def needed(mass: np.ndarray, level: float) -> float:
    """The least share from which on at least `level` is kept, between budgets along a line."""
    enough = np.flatnonzero(np.minimum.accumulate(mass[::-1])[::-1] >= level)
    if not len(enough):
        return float("inf")
    at = int(enough[0])
    if at == 0:
        return SHARES[0]
    below, above = mass[at - 1], mass[at]
    return float(SHARES[at - 1] + (SHARES[at] - SHARES[at - 1]) * (level - below) / (above - below))


def jobs() -> Iterator[Job]:
    """All that are on record."""
    for policy in (*POLICIES, *AT_256):
        for structure in STRUCTURES:
            for load in LOADS if policy in POLICIES else (256,):
                yield from (Job(structure, load, policy, seed) for seed in SEEDS)


_TABLE = Table(__file__, digits=4)


@cache
def recorded() -> Mapping[Job, Needed]:
    """Every job, from the table."""
    needs = ({level: float(line[str(level)]) for level in LEVELS} for line in _TABLE.lines())
    return dict(zip(_TABLE.rows(Job), needs, strict=True))


def mean(structure: str, load: int, policy: str, level: int = 90) -> float:
    """Over the seeds."""
    found = recorded()
    return float(np.mean([found[Job(structure, load, policy, seed)][level] for seed in SEEDS]))


if __name__ == "__main__":
    _TABLE.write(
        [*Job._fields, *map(str, LEVELS)], ([*job, *computed(job).values()] for job in jobs())
    )
