"""Token-PD, section 4: the guarantee where a round may use more than M and sums are netted.

The proofs, with constants, are in `fluidkv_papers.theory.price_rule.bounds` and on the page
docs/price_theorem.md.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import isqrt
from typing import Any

from fluidkv import tokenpd
from fluidkv.ledger import Evidence, Finding, Origin, Range
from fluidkv.tokenpd.knapsack.run import PriceRun
from fluidkv.tokenpd.pricing import Budget
from fluidkv_papers.theory import price_rule
from fluidkv_papers.tokenpd.instances import rounds as markets
from fluidkv_papers.tokenpd.instances.rounds import HALF, ONE, ZERO
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements(origin=Origin.READING)

_PLACE = "section 4, the theorem"
_STARTS = (Fraction(1, 4), Fraction(2))
_STEPS = (Fraction(1, 8), Fraction(1, 2))
_WORDS = "mu_1 = 1/4, 2, eta = 1/8, 1/2; decisions exact, the bound from balls"
_PROOF = "Proof in docs/price_theorem.md; the constant has M, n and mu_1, where the paper has B."

_Case = tuple[int, int, Fraction, Fraction, markets.Rounds]


def _runs(sizes: tuple[tuple[int, int], ...]) -> Iterator[_Case]:
    """M, c, mu_1, eta and rounds."""
    for rounds in markets.sequences((HALF, ONE), tokens=2, rounds=2):
        for memory, cost in sizes:
            for start in _STARTS:
                for step in _STEPS:
                    yield memory, cost, start, step, rounds


def _named(memory: int, cost: int, start: Fraction, step: Fraction, rounds: markets.Rounds) -> str:
    return f"{markets.shown(rounds)}, M = {memory}, c = {cost}, mu_1 = {start}, eta = {step}"


def _range(*sizes: tuple[int, int]) -> Range:
    pairs = ", ".join(map(str, sizes))
    words = f"up to two rounds of up to two tokens worth 1/2 or 1, (M, c) = {pairs}, {_WORDS}"
    return Range(words, lambda: _runs(sizes), name=_named)


def _played(
    memory: int, cost: int, start: Any, step: Any, rounds: markets.Rounds
) -> "tuple[PriceRun, price_rule.PriceSetting | None]":
    """The run, and what the bounds depend on; None where no token ever comes."""
    pool, pricing = markets.pool_of(rounds, cost), tokenpd.Pricing(step, start)
    run = price_rule.exact_rounds(pool, memory, pricing)
    return run, price_rule.setting_of(pool, memory, pricing)


@CLAIMS.claim(
    "section-4.guarantee.violation.netted", _PLACE, over=_range((1, 1), (3, 2)), note=_PROOF
)
def _violation(memory: int, cost: int, start: Any, step: Any, rounds: markets.Rounds) -> bool:
    """Use above M less what is left free is at most (M / eta) log(mu_max / mu_1) in all, so
    O(sqrt(T)) for every sequence of rounds and every mu_1 above 0.

    Ours: mu_max = max(mu_1, (a_max / c) exp(eta (n c - M) / M))
    Paper: [sum of c x - M]_+ = O(sqrt(T))"""
    run, setting = _played(memory, cost, start, step, rounds)
    return setting is None or int(run.imbalance.max()) <= price_rule.most_violation(setting)


@CLAIMS.claim("section-4.guarantee.regret.netted", _PLACE, over=_range((1, 1), (3, 2)), note=_PROOF)
def _regret(memory: int, cost: int, start: Any, step: Any, rounds: markets.Rounds) -> bool:
    """Regret against the optimum of each round is at most M mu_1 / eta + eta T mu_max G^2 / (2 M),
    with G = max(M, n c - M), so O(sqrt(T)) for every sequence of rounds.

    Paper: Regret(T) = O(sqrt(T))"""
    run, setting = _played(memory, cost, start, step, rounds)
    lost = sum(run.optimum - run.reward)
    return setting is None or lost <= price_rule.most_regret_simply(setting)


@CLAIMS.claim(
    "appendix-a.rounding.small-cost",
    "Appendix A, integral rounding",
    over=_range((1, 1), (3, 2), (5, 3)),
)
def _small_cost(memory: int, cost: int, start: Any, step: Any, rounds: markets.Rounds) -> bool:
    """The bound holds against the optimum of the relaxed round where a token costs as much as M, or
    half of it and more.

    Ours: c need not be small: (2) is integral as it is, and L bounds the relaxed optimum
    Paper: Since each token's cost c is small relative to M"""
    run, setting = _played(memory, cost, start, step, rounds)
    most = sum(
        (markets.relaxed_best(markets.Market(memory, cost), values) for values in rounds), ZERO
    )
    return setting is None or most - sum(run.reward) <= price_rule.most_regret_simply(setting)


@CLAIMS.claim(
    "section-4.guarantee.regret.netted.sharp",
    _PLACE,
    over=lambda: (Fraction(1) + Fraction(1, 10 * 2**n) for n in range(6)),
)
def _sharp(growth: Fraction) -> bool:
    """No smaller power will do: one token worth 1/2 a round, with M = c = 1 and mu_1 = 1, is lost
    in the first log(2) / eta rounds, and kept ever after.

    Checked: q = e^eta = 11/10, 21/20 ... 1 + 1/320
    Ours: regret is half of ceil(log(2) / eta), which is of the order sqrt(T)"""
    waits = 0
    while growth**waits < 2:
        waits += 1
    rounds = [(HALF,)] * (waits + 5)
    return markets.regret(markets.Market(growth=growth), rounds) == HALF * waits


@CLAIMS.fails("section-4.guarantee.violation.netted-any-start", f"{_PLACE}, with mu >= 0")
def _any_start() -> Finding:
    """The violation is O(sqrt(T)) from any start mu_1 >= 0.

    Checked: mu_1 = 0, two tokens worth 1 a round, M = c = 1, eta = 1 / sqrt(T)
    Ours: with mu_1 = 0 the price is 0 for ever, and each round of n tokens uses n c
    Paper: let mu >= 0 be the memory price
    Note: Holds for mu_1 above 0, which the paper may mean and does not say."""
    from fluidkv_papers.theory.price_rule.cases import zero_price

    def violation(horizon: int) -> int:
        step = Fraction(1, isqrt(horizon))
        return price_rule.run_case(zero_price(horizon), step, Budget.NETTED).violation

    return Finding(markets.outgrows(violation))


@CLAIMS.claim(
    "section-4.guarantee.violation.netted-any-start.linear",
    f"{_PLACE}, with mu >= 0",
    evidence=Evidence.SAMPLED,
)
def _linear() -> Finding:
    """With mu_1 = 0 the violation is (n c - M) T.

    Checked: n = 1 ... 4 tokens, M = 1 ... 4, T = 1 ... 8, c = 1
    Ours: linear: by (5) a price of 0 stays 0
    Paper: O(sqrt(T)) for an unnamed mu_1"""
    return Finding(
        f"n = {n}, M = {memory}, T = {rounds}"
        for n in range(1, 5)
        for memory in range(1, 5)
        for rounds in range(1, 9)
        if sum(
            turn.excess
            for turn in markets.played(
                markets.Market(memory, start=Fraction(0)), [(ONE,) * n] * rounds
            )
        )
        != (n - memory) * rounds
    )
