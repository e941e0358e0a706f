"""An answer whose numbers are made by hand: what pages and figures are tried on."""

from dataclasses import dataclass

import numpy as np

from fluidkv.answers.price.pick import picked
from fluidkv.answers.price.result import Kept, PriceAnswer, Shown
from fluidkv.tokenpd import AttentionSummary, Budget, Choice, EvictionPolicy, Pricing, Scope

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
    return PriceAnswer(
        name="made by hand",
        read="",
        parameters={"share": 0.5},
        budget=BUDGET,
        requests=requests,
        streams=requests,
        rounds=ROUNDS,
        rows=runs * requests * (ROUNDS - 1),
        demand=40,
        summary=AttentionSummary(6, 6, ROUNDS, 40, 10.0, 5.0, 20.0, 0.3, 0.5, 0.6, 0.7),
        pricing=PRICING,
        predictor="average",
        delay=0,
        comes_back=False,
        kept=kept,
        pick=pick,
        shown=Shown(0, 0, 0, PROMPT, LENGTH),
        unheld="",
        kv_bytes=131072,
    )


def _kept(policy: EvictionPolicy, noise: list[np.ndarray]) -> Kept:
    mass = tuple(np.clip(MEANS[policy.name] + each, 0, 1) for each in noise)
    used = np.full(ROUNDS, BUDGET)
    if policy.name == "token-pd":
        used[::3] += 2
    priced = policy.choice is Choice.PRICE
    there = np.tril(np.ones((ROUNDS, LENGTH), bool), PROMPT - 1)
    there[:, 1 : len(policy.name) // 2] = False
    runs = len(noise)
    return Kept(
        policy=policy,
        foresees=False,
        mass=mass,
        error=tuple(1 - each for each in mass),
        used=(used,) * runs,
        budget=BUDGET,
        recomputed=np.zeros(runs, int),
        regret=np.full(runs, 1.5),
        regret_held=np.full(runs, 0.5),
        price=0.02 * np.exp(0.1 * np.arange(ROUNDS)) if priced else None,
        there=there,
    )
