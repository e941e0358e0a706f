"""Token-PD, section 3: what regret is against, and what the guarantee says of each comparator."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any

from fluidkv.ledger import Evidence, Finding, Instance, Origin, Range
from fluidkv.tokenpd.pricing import Budget
from fluidkv_papers.theory import price_rule
from fluidkv_papers.tokenpd.instances import rounds as markets
from fluidkv_papers.tokenpd.instances.rounds import HALF, ONE, ZERO
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements(origin=Origin.READING)
REGRET = CLAIMS.section("section-4.guarantee.regret", "section 4, the theorem")

_PLACE = "section 3, definition of regret"


def _set_and_rounds(rounds: markets.Rounds) -> tuple[Any, Any]:
    """What the best one set brings, and the optima of rounds; column j of the rounds is token j."""
    from fluidkv_papers.theory.price_rule.cases import pool_of

    pool = pool_of(rounds)
    return price_rule.best_fixed_set(pool, 1).reward, sum(price_rule.round_optimum(pool, 1))


_TOKENS = Range(
    "two tokens in two rounds, worth 0, 1/2 or 1, M = c = 1",
    lambda: (((rows[:2], rows[2:]),) for rows in product((ZERO, HALF, ONE), repeat=4)),
    name=lambda rounds: f"rounds {markets.shown(rounds)}",
)


@CLAIMS.claim("section-3.regret.one-set.below", _PLACE, over=_TOKENS)
def _below(rounds: markets.Rounds) -> bool:
    """The best one set of tokens, kept in all rounds, earns no more than the optima of the rounds.

    Ours: so whatever bounds regret against these bounds it against that
    Paper: max over x in {0, 1}^|T|"""
    one, each = _set_and_rounds(rounds)
    return one <= each


@CLAIMS.fails("section-3.regret.one-set.clairvoyant", _PLACE, over=_TOKENS)
def _clairvoyant(rounds: markets.Rounds) -> bool:
    """The max over one x is what a clairvoyant earns who knows the entire conversation.

    Ours: who knows it may change x from round to round
    Paper: an offline clairvoyant that knows the entire conversation; max over x in {0, 1}^|T|
    Note: The formula has no x behind its max, so it does not say which is meant.
    Holds: section-3.regret.one-set.below"""
    one, each = _set_and_rounds(rounds)
    return one == each


@CLAIMS.claim(
    "section-3.regret.utility-2",
    f"{_PLACE}, with (2)",
    over=lambda: (
        (markets.Market(memory), values)
        for (values,) in markets.sequences((ZERO, HALF, ONE), tokens=3, rounds=1)
        for memory in (1, 2)
    ),
)
def _utility_2(market: markets.Market, values: markets.Values) -> bool:
    """With utility (2) as printed, all sets of as many tokens are worth the same, so regret is
    delta times a difference of counts.

    Checked: one round of up to three tokens worth 0, 1/2 or 1, M = 1, 2, c = 1, delta = 1/4
    Ours: (2) counts R whether x is 1 or 0
    Paper: U(x) = sum of (R - lambda sigma^2 - (1 - x) delta)
    Note: Then whoever fills M has no regret, whatever it keeps. What follows takes R from kept
    tokens alone."""
    penalty = Fraction(1, 4)

    def utility(kept: tuple[int, ...]) -> Fraction:
        return sum((a - (1 - x) * penalty for a, x in zip(values, kept, strict=True)), ZERO)

    found: dict[int, set[Fraction]] = {}
    for kept in product((0, 1), repeat=len(values)):
        found.setdefault(sum(kept), set()).add(utility(kept))
    fits = max((k for k in found if k <= market.tokens), default=0)
    most = max(u for k, values_of in found.items() if k <= market.tokens for u in values_of)
    return all(len(each) == 1 for each in found.values()) and found[fits] == {most}


# --------------------------------------------------------------------- freedom that both have


def _lost(horizon: int, step: Fraction) -> Any:
    """Two tokens worth 1/2 a round, and none in the second half; against T M in all."""
    from fluidkv_papers.theory.price_rule.cases import two_futures

    case = two_futures(horizon, rich=False)
    regret = price_rule.run_case(case, step, Budget.NETTED).regret
    return (
        price_rule.purse_optimum(case.pool, 1)
        - sum(price_rule.round_optimum(case.pool, 1))
        + regret
    )


@REGRET.claim(
    "in-all.quarter",
    over=lambda: ((4 * n, eta) for n in range(1, 17) for eta in (Fraction(1, 1000), ONE, 10 * ONE)),
)
def _quarter(horizon: int, step: Fraction) -> bool:
    """Against a clairvoyant who too may use M only on average, regret is T / 4 on such a sequence.

    Checked: M = c = 1, mu_1 = 1/2, T = 4, 8 ... 64, eta = 1/1000, 1, 10; two tokens worth 1/2 for T
    / 2 rounds, then none
    Ours: in all T divisible by 4, for any step: the price goes up and down between two values
    Paper: Regret(T) = O(sqrt(T)); relative to the offline optimum"""
    return _lost(horizon, step) == Fraction(horizon, 4)


@REGRET.fails("in-all")
def _in_all() -> Finding:
    """Regret is O(sqrt(T)) against a clairvoyant who too may use M only on average.

    Checked: M = c = 1, mu_1 = 1/2, eta = 1 / sqrt(T); two tokens worth 1/2 for T / 2 rounds, then
    none
    Ours: T / 4 on two tokens worth 1/2 for half of the time, then none
    Paper: sub-linear loss relative to the offline optimum
    Note: No rule can do it for every sequence: had tokens worth 1 come, those worth 1/2 had better
    been left. Reference [1] draws rounds independently of one law, and there it can.
    Holds: section-4.guarantee.regret.in-all.any-rule"""
    return Finding(markets.outgrows(lambda horizon: _lost(horizon, Fraction(1, isqrt(horizon)))))


@REGRET.claim("in-all.fixed-price", over=range(4, 65, 4))
def _fixed_price(horizon: int) -> bool:
    """That clairvoyant has no more there than the best fixed price that uses T M at most.

    Checked: two tokens worth 1/2 a round for T / 2 rounds, then none; M = c = 1, T = 4, 8 ... 64
    Ours: a price of 1/2 keeps all, T M in all: so regret against a fixed price is linear, too
    Paper: Regret(T) = O(sqrt(T))"""
    from fluidkv_papers.theory.price_rule.cases import two_futures

    pool = two_futures(horizon, rich=False).pool
    best = price_rule.best_fixed_price(pool, 1)
    return best.reward == price_rule.purse_optimum(pool, 1) and best.least_worth == HALF


@REGRET.claim("in-all.any-rule", evidence=Evidence.SAMPLED)
def _any_rule() -> Iterator[Instance]:
    """Of two sequences that are alike in their first half, every rule that is netted to M loses T /
    4 on one, against a clairvoyant who may use M on average.

    Checked: M = c = 1, T = 4, 8 ... 64, every count that may be kept in the first half
    Ours: of T tokens, s of them worth 1/2, it loses s / 2 or (T - s) / 2
    Paper: Regret(T) = O(sqrt(T))
    Note: Proof. The two add up to T / 2."""
    # Two tokens worth 1/2 a round; then two worth 1, or none. A rule keeps s in the first half.
    for horizon in range(4, 65, 4):
        for kept in range(horizon + 1):
            # Then none come: T / 2 is to be had. Then two worth 1 come: T is, with s of T used.
            worst = max(HALF * (horizon - kept), horizon - (HALF * kept + (horizon - kept)))
            bad = f"T = {horizon}: {kept} kept, at most {worst} lost"
            yield Instance(worst >= Fraction(horizon, 4), bad=bad)
