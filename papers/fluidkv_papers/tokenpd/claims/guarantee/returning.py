"""Token-PD: whether a token that was evicted can come back, and what regret then counts."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import Any

from fluidkv import tokenpd
from fluidkv.ledger import Evidence, Finding, Instance, Origin
from fluidkv.tokenpd.pricing import Budget, Demand
from fluidkv_papers.theory import price_rule
from fluidkv_papers.tokenpd.instances.rounds import HALF, HORIZONS, ONE, outgrows
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements(origin=Origin.READING)
REGRET = CLAIMS.section("section-4.guarantee.regret", "section 4, the theorem, with section 3")


_ONE_TOKEN = "one token worth 1/2 a round, M = c = 1, mu_1 = 1"


def _lost(horizon: int, step: Fraction, *, gone: bool) -> Any:
    """Against the optima of rounds, which here the best one set and any clairvoyant have, too."""
    from fluidkv_papers.theory.price_rule.cases import pool_of

    case = price_rule.Case(pool_of([(HALF,)] * horizon), ONE, gone=gone)
    return price_rule.run_case(case, step, Budget.NETTED).regret


@REGRET.claim(
    "gone.comparators",
    checked=f"{_ONE_TOKEN}; T = 1 ... 16; the best one set, and a flow through time",
    evidence=Evidence.SAMPLED,
)
def _comparators() -> Iterator[Instance]:
    """Who knows that conversation has the optima of its rounds, though what is gone is gone.

    Ours: T / 2
    Paper: a clairvoyant that knows the entire conversation"""
    from fluidkv_papers.theory.price_rule.cases import pool_of

    for rounds in range(1, 17):
        pool = pool_of([(HALF,)] * rounds)
        one = price_rule.best_fixed_set(pool, 1).reward
        knowing = price_rule.clairvoyant(pool, 1).reward
        same = one == knowing == sum(price_rule.round_optimum(pool, 1))
        yield Instance(same, bad=f"T = {rounds}: {one}, {knowing}")


@REGRET.claim(
    "returns", over=HORIZONS, checked=f"{_ONE_TOKEN}; T = 4, 16 ... 1024, eta = 1 / sqrt(T)"
)
def _returns(horizon: int) -> bool:
    """Where an evicted token may be kept again, at no cost, one token worth 1/2 is lost in the
    first log(2) sqrt(T) rounds alone.

    Ours: the price falls to it, and it is kept ever after
    Paper: evicted and will later be recomputed at latency penalty delta
    Note: Appendix A chooses among all tokens anew each round, and charges nothing for a return."""
    rounds = 2 * _lost(horizon, Fraction(1, isqrt(horizon)), gone=False)
    return (rounds - 1) ** 2 < Fraction(1, 2) * horizon and rounds >= 1


@REGRET.fails("gone", checked=f"{_ONE_TOKEN}; eta = 1 / sqrt(T)")
def _gone() -> Finding:
    """Where what is evicted is gone, regret is O(sqrt(T)) against the best one set.

    Ours: T / 2: it is refused once, at the first price, and kept by no price after
    Paper: Regret(T) = O(sqrt(T))
    Note: Whoever knows the future and cannot bring back either, keeps it. No round uses more than
    M, so it is so under each reading. A start below all values spares this token; a rise of the
    price for one round takes it again.
    Holds: section-4.guarantee.regret.returns"""
    return Finding(outgrows(lambda horizon: _lost(horizon, Fraction(1, isqrt(horizon)), gone=True)))


@REGRET.fails("returns.charged")
def _charged() -> Finding:
    """Where each return costs delta, netted regret is O(sqrt(T)).

    Checked: two tokens worth 1 a round, M = c = 1, mu_1 = 1, eta = 1 / sqrt(T), delta = 1/2
    Ours: delta (T - 2): both tokens leave and come back with every turn of the price
    Paper: evicted and will later be recomputed at latency penalty delta
    Note: Holds where returns are free, as in Appendix A."""
    # The optimum keeps one of the two throughout, so that nothing comes back to it.
    from fluidkv_papers.theory.price_rule.cases import tied

    def lost(horizon: int) -> Any:
        pool = tied(horizon).pool
        run = price_rule.exact_rounds(pool, 1, tokenpd.Pricing(1 / isqrt(horizon)))
        charged = HALF * int(run.brought_back.sum())
        return sum(run.optimum - run.reward) + charged

    pool = tied(16).pool
    knowing = price_rule.clairvoyant(pool, 1, price_of_return=HALF).reward
    as_said = knowing == sum(price_rule.round_optimum(pool, 1))
    return Finding(outgrows(lost) if as_said else None)


@REGRET.fails("returns.charged.hard")
def _charged_hard() -> Finding:
    """Where each return costs delta and no round uses more than M, regret is O(sqrt(T)) if (5) sees
    what is wanted, or what is kept.

    Checked: tokens worth 1 and 3/4, then 3/4 and 1, by turns, M = c = 1, mu_1 = 1/2, eta = 1 /
    sqrt(T), delta = 1/2; against one of the two throughout
    Ours: what is best of a round changes from round to round, and each change costs delta
    Paper: evicted and will later be recomputed at latency penalty delta
    Note: So without a price, too: the best that fit of each round is not the best of all rounds.
    Holds where returns are free."""
    # Against 7 T / 8, which keeping either token throughout earns without a return.
    from fluidkv_papers.theory.price_rule.cases import pool_of

    def lost(demand: Demand, horizon: int) -> Any:
        low = Fraction(3, 4)
        pool = pool_of([(ONE, low), (low, ONE)] * (horizon // 2))
        pricing = tokenpd.Pricing(1 / isqrt(horizon), 0.5, Budget.HARD, demand)
        run = price_rule.exact_rounds(pool, 1, pricing)
        return Fraction(7 * horizon, 8) - sum(run.reward) + HALF * int(run.brought_back.sum())

    found = [outgrows(partial(lost, demand)) for demand in Demand]
    return Finding(found[0] if all(found) else None)
