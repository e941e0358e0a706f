"""Token-PD, section 3: the choice is made on predictions, and returns are seen after it."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any

from fluidkv import tokenpd
from fluidkv.ledger import Finding, Origin
from fluidkv.tokenpd import knapsack
from fluidkv.tokenpd.knapsack.run import PriceRun
from fluidkv_papers.tokenpd.instances import rounds as markets
from fluidkv_papers.tokenpd.instances.rounds import HALF, ONE, ZERO
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements(origin=Origin.READING)


def _predicting(market: markets.Market, seen: markets.Rounds, true: markets.Rounds) -> PriceRun:
    """The rule where R is what is seen, over tokens that are there all the time."""
    from fluidkv_papers.theory.price_rule.cases import pool_of

    pool = replace(pool_of(true), predicted=pool_of(seen).returns)
    start: Any = market.start
    return knapsack.literal.literal_rounds(
        pool,
        market.memory,
        tokenpd.Pricing(1, start),
        price_at=lambda imbalance: market.start * market.growth**imbalance,
    )


def _predicted() -> Iterator[tuple[markets.Market, markets.Rounds, markets.Rounds]]:
    """What is seen, and what comes: up to two rounds of two tokens."""
    grid = list(product((ZERO, HALF, ONE), repeat=2))
    for seen in product(grid, repeat=2):
        for true in product(grid[1::3], repeat=2):
            yield markets.Market(start=HALF, growth=Fraction(3, 2)), seen, true


@CLAIMS.claim("section-3.protocol.errors", "section 3, protocol", over=_predicted)
def _errors(market: markets.Market, seen: markets.Rounds, true: markets.Rounds) -> bool:
    """Where R is seen after the choice, regret grows by at most the sum of |R - R^|.

    Checked: two rounds of two tokens, predictions 0, 1/2 or 1, of tokens worth (0, 1/2), (1/2, 1/2)
    or (1, 1/2), M = c = 1
    Ours: of all tokens of all rounds, beside the bound of the other protocol
    Paper: having seen predictions, then observes R"""
    run, pool = _predicting(market, seen, true), zip(seen, true, strict=True)
    off = sum((abs(a - b) for said, came in pool for a, b in zip(said, came, strict=True)), ZERO)
    signed = -sum(run.price[:-1] * (run.used - market.memory))
    return sum(run.optimum - run.reward) <= signed + off


@CLAIMS.fails("section-3.protocol.any-predictions", "section 3, protocol")
def _any_predictions() -> Finding:
    """Regret is O(sqrt(T)) whatever the predictions are.

    Checked: one token worth 1 a round, of which 0 is predicted, M = c = 1, any price above 0
    Ours: T: no price above 0 keeps what is said to be worth 0
    Paper: observes R after x was chosen; Regret(T) = O(sqrt(T))
    Note: Appendix A sees a first, and is about R^ = R. An error per token that does not vanish
    costs a part of T, here and with every rule.
    Holds: section-3.protocol.errors, section-3.protocol.any-rule"""

    def lost(horizon: int) -> Any:
        market = markets.Market(growth=Fraction(isqrt(horizon) + 1, isqrt(horizon)))
        run = _predicting(market, ((ZERO,),) * horizon, ((ONE,),) * horizon)
        return sum(run.optimum - run.reward)

    return Finding(markets.outgrows(lost))


@CLAIMS.claim("section-3.protocol.any-rule", "section 3, protocol")
def _any_rule_unseen() -> bool | str:
    """Of two tokens, one of which is worth 1, every rule that keeps one unseen loses 1/2 a round in
    the mean, against the optimum of the round.

    Checked: all choices, both outcomes equally likely, M = c = 1
    Ours: 1/2 at least, so T / 2: no rule has O(sqrt(T)) against optima of rounds unseen
    Paper: Regret(T) = O(sqrt(T))
    Note: Against the best one set it can be had, by other rules: Hedge, for one."""
    choices = [x for x in product((0, 1), repeat=2) if sum(x) <= 1]
    losses = [ONE - sum(HALF * x[j] for j in range(2)) for x in choices]
    return min(losses) == HALF or f"{min(losses)} lost"
