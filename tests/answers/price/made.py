"""An answer whose numbers are made by hand: what pages and figures are tried on."""

from dataclasses import asdict, dataclass

import numpy as np

from fluidkv.answers.price.pick import picked
from fluidkv.answers.price.result import Kept, PriceAnswer, Shown
from fluidkv.answers.price.tally import Tally
from fluidkv.tokenpd import Pricing
from fluidkv.tokenpd.attention.summary import AttentionSummary
from fluidkv.tokenpd.eviction.policy import Choice, EvictionPolicy, Scope
from fluidkv.tokenpd.pricing import Budget

PRICING = Pricing(0.25, 0.02)
HARD = Pricing(0.25, 0.02, budget=Budget.HARD)


@dataclass(frozen=True)
class Order:
    """Stands for a scorer."""

    of: str


POLICIES = (
    EvictionPolicy("lru", Order("recent")),
    EvictionPolicy("returns", Order("returned")),
    EvictionPolicy("returns-pooled", Order("returned"), Scope.POOLED),
    EvictionPolicy("token-pd", Order("returned"), Scope.POOLED, Choice.PRICE, pricing=PRICING),
    EvictionPolicy("token-pd-hard", Order("returned"), Scope.POOLED, Choice.PRICE, pricing=HARD),
)
MEANS = {"lru": 0.5, "returns": 0.7, "returns-pooled": 0.8, "token-pd": 0.9, "token-pd-hard": 0.8}
BUDGET, ROUNDS, PROMPT, LENGTH = 8, 12, 4, 15


def made(runs: int = 3, requests: int = 6) -> PriceAnswer:
    """Five policies; the netted price uses two tokens more in every third round."""
    draw = np.random.default_rng(1)
    noise = [0.01 * draw.standard_normal(requests) for _ in range(runs)]
    kept = tuple(_kept(each, noise) for each in POLICIES)
    pick = picked(
        POLICIES, {each.name: each.mass for each in kept}, {each.name: each.fits for each in kept}
    )
    summary = AttentionSummary(6, 6, ROUNDS, 40, 10.0, 5.0, 20.0, 0.3, 0.5, 0.6, 0.7)
    return PriceAnswer(
        name="made by hand",
        parameters={"share": 0.5},
        evidence="sampled",
        budget=BUDGET,
        demand=40,
        kv_bytes=131072,
        requests=requests,
        streams=requests,
        rounds=ROUNDS,
        runs=runs,
        attention=asdict(summary),
        predictor="average",
        rule={"eta": 0.25, "start": 0.02, "objective": "rule", "risk_aversion": 0, "penalty": 0},
        delay=0,
        comes_back=False,
        confidence=0.95,
        kept=kept,
        pick=pick,
        shown=Shown(0, 0, 0, PROMPT, LENGTH),
        unheld=None,
        read="",
        rows=runs * requests * (ROUNDS - 1),
        summary=summary,
        pricing=PRICING,
    )


def _kept(policy: EvictionPolicy, noise: list[np.ndarray]) -> Kept:
    tally = Tally(policy)
    for each in noise:
        mass = np.clip(MEANS[policy.name] + each, 0, 1)
        used = np.full(ROUNDS, BUDGET)
        if policy.name == "token-pd":
            used[::3] += 2
        tally.mass.append(mass)
        tally.error.append(1 - mass)
        tally.used.append(used)
        tally.recomputed.append(0)
        tally.total.append(0.0)
        tally.optimum.append(1.5)
    there = np.tril(np.ones((ROUNDS, LENGTH), bool), PROMPT - 1)
    there[:, 1 : len(policy.name) // 2] = False
    tally.there = there
    if policy.choice is Choice.PRICE:
        tally.price = 0.02 * np.exp(0.1 * np.arange(ROUNDS))
    return tally.kept(BUDGET, [0.5] * len(noise))
