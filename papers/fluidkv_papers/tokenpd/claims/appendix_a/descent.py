"""Token-PD, Appendix A: mirror descent: its regulariser, its inequality and its step.

With D(mu, nu) = mu log(mu / nu) - mu + nu and mu_(t+1) = mu_t e^z, z = eta g_t / M,
D(mu, mu_t) - D(mu, mu_(t+1)) = mu z - mu_t (e^z - 1) >= (mu - mu_t) z - mu_t z^2 for z <= 1.79: so
for any mu >= 0 the sum of (mu - mu_t) g_t is at most (M / eta) D(mu, mu_1) + (eta / M) sum of
mu_t g_t^2.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import isqrt

from fluidkv import exact, tokenpd
from fluidkv.ledger import Finding, Origin, Range, sympy
from fluidkv.tokenpd import knapsack
from fluidkv_papers.tokenpd.instances import rounds as markets
from fluidkv_papers.tokenpd.instances.rounds import HALF, ONE, ZERO
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements()
LEMMAS = CLAIMS.section(kind="lemma")

_PLACE = "Appendix A, mirror descent"


@CLAIMS.claim("appendix-a.descent.step", _PLACE, kind="lemma")
def _step() -> Finding:
    """The mirror step with R(mu) = mu (log mu - 1) on the dual function of the round, divided by M,
    is (5).

    Checked: all values, in symbols
    Paper: mu_(t+1) = mu_t exp(eta g_t / M)"""
    price, following, eta, memory = sympy.symbols("mu nu eta M", positive=True)
    excess = sympy.symbols("g", real=True)
    distance = following * sympy.log(following / price) - following + price
    slope = sympy.diff(-eta * excess * following / memory + distance, following)
    (found,) = sympy.solve(slope, following)
    gap = sympy.simplify(found - price * sympy.exp(eta * excess / memory))
    convex = sympy.diff(slope, following).is_positive
    return Finding(None if gap == 0 and convex else str(found), f"{found}, the only minimum")


@CLAIMS.fails("appendix-a.descent.regulariser", _PLACE, kind="lemma")
def _regulariser() -> bool | str:
    """R(mu) = mu (log mu - 1) is a barrier: it grows without bound as mu falls to 0.

    Checked: the limit, in symbols
    Ours: the negative entropy, not normalised; a log barrier, -log(mu), has another step, nu = mu M
    / (M - eta mu g)
    Paper: the log-barrier regulariser R(mu) = mu (log mu - 1)
    Note: A slip in a name: the formula is the right one for (5).
    Holds: appendix-a.descent.step"""
    price = sympy.symbols("mu", positive=True)
    limit = sympy.limit(price * (sympy.log(price) - 1), price, 0, "+")
    return not limit.is_finite or f"its limit at 0 is {limit}"


# ------------------------------------------------------------------------------ the inequality


def _none_kept() -> Iterator[tuple[Fraction, int]]:
    for horizon in range(1, 9):
        for eta in (Fraction(1, 4), HALF):
            yield eta, horizon


_NONE_KEPT = Range(
    "one token worth 0 a round, M = c = 1, mu_1 = 1, delta = 0, eta = 1/4, 1/2, T = 1 ... 8",
    _none_kept,
    name=lambda eta, horizon: f"T = {horizon}, eta = {eta}",
)


def _least_gaps(eta: Fraction, horizon: int) -> Fraction:
    """A rational below the sum of G = mu_t, as e^-x >= 1 - x."""
    return sum((max(Fraction(), 1 - eta * t) for t in range(horizon)), Fraction())


def _right(eta: Fraction, horizon: int, payoff: int = 1) -> Fraction:
    """log(mu_T / mu_1) / eta + eta B^2 T: nothing is kept, so the price falls by e^-eta a round."""
    return -(horizon - 1) + eta * payoff**2 * horizon


@LEMMAS.fails(
    "appendix-a.descent.inequality", f"{_PLACE}, the displayed inequality", over=_NONE_KEPT
)
def _inequality(eta: Fraction, horizon: int) -> bool:
    """The sum of G is at most log(mu_T / mu_1) / eta + eta B^2 T.

    Ours: one round of a token that is not kept: G = mu_1 M = 1, and eta B^2 = 1/4
    Paper: sum of G <= log(mu_T / mu_1) / eta + eta B^2 T
    Note: Both sides are finite here. M, mu_1 and the size of g are not in it, and a falling price
    makes it smaller.
    Holds: appendix-a.descent.inequality.repaired"""
    return _least_gaps(eta, horizon) <= _right(eta, horizon)


@LEMMAS.fails(
    "appendix-a.descent.inequality.any-constant",
    f"{_PLACE}, the displayed inequality",
    over=_NONE_KEPT.where("with T above 1", lambda eta, horizon: horizon > 1),
    origin=Origin.READING,
)
def _any_constant(eta: Fraction, horizon: int) -> bool:
    """The sum of G is at most some constant times log(mu_T / mu_1) / eta + eta B^2 T.

    Ours: the right side is negative, -(T - 1) + eta B^2 T, and gaps are not
    Paper: sum of G <= log(mu_T / mu_1) / eta + eta B^2 T"""
    return _right(eta, horizon) >= 0


@LEMMAS.claim(
    "appendix-a.descent.inequality.repaired",
    f"{_PLACE}, the displayed inequality",
    over=lambda: (
        (markets.Market(memory, cost, start, growth), rounds)
        for rounds in markets.sequences((HALF, ONE), tokens=2, rounds=2)
        for memory, cost in ((1, 1), (2, 1), (3, 2))
        for start in (HALF, Fraction(2))
        for growth in (Fraction(11, 10), Fraction(2))
    ),
    origin=Origin.READING,
)
def _repaired(market: markets.Market, rounds: markets.Rounds) -> bool:
    """For any one price mu, if eta (n c - M) / M is at most 1.79, the sum of (mu - mu_t) (c k_t -
    M) is at most (M / eta) (mu log(mu / mu_1) - mu + mu_1) + (eta / M) times the sum of mu_t (c k_t
    - M)^2.

    Checked: up to two rounds of up to two tokens worth 1/2 or 1, (M, c) = (1, 1), (2, 1), (3, 2),
    mu_1 = 1/2, 2, e^(eta/M) = 11/10, 2, against prices 0, 1/8, 1 and 3, in balls
    Ours: mirror descent with this regulariser, at one price for all rounds
    Paper: the standard mirror-descent argument"""
    turns, rate = markets.played(market, rounds), exact.to_ball(market.growth).log()
    squares = sum((turn.price * turn.excess**2 for turn in turns), Fraction())
    for other in (Fraction(), Fraction(1, 8), ONE, Fraction(3)):
        left = sum(((other - turn.price) * turn.excess for turn in turns), Fraction())
        log = exact.to_ball(other / market.start).log() if other else 0
        distance = exact.to_ball(other) * log - exact.to_ball(other - market.start)
        if not rate * exact.to_ball(left) <= distance + rate * rate * exact.to_ball(squares):
            return False
    return True


@LEMMAS.fails(
    "appendix-a.descent.log-ratio", f"{_PLACE}, the displayed inequality", origin=Origin.READING
)
def _log_ratio() -> bool | str:
    """log(mu_T / mu_1) is bounded on both sides, whatever T, with eta = 1 / sqrt(T).

    Checked: one token worth 0 a round, M = c = 1, T = 4, 16 ... 1024
    Ours: above, by log(mu_max / mu_1); below not: -(T - 1) / sqrt(T)
    Paper: eta = sqrt(log(mu_T / mu_1) / T) / B yields O(sqrt(T))"""
    from fluidkv_papers.theory.price_rule.cases import pool_of

    ratios = {}
    for horizon in markets.HORIZONS:
        pool = pool_of([(ZERO,)] * (horizon - 1))
        run = knapsack.literal.literal_rounds(pool, 1, tokenpd.Pricing(1 / isqrt(horizon)))
        ratios[horizon] = Fraction(int(run.imbalance[-1]), isqrt(horizon))
    falls = all(ratios[b] < 1.5 * ratios[a] for a, b in pairwise(markets.HORIZONS))
    return not falls or f"{ratios[4]} at T = 4, {ratios[1024]} at T = 1024"


@LEMMAS.fails(
    "appendix-a.descent.step-size",
    f"{_PLACE}, the choice of eta",
    over=Range(
        "one token worth 0 a round, M = c = 1, T = 2 ... 8, e^eta = 11/10, 2",
        lambda: (
            (horizon, growth)
            for horizon in range(2, 9)
            for growth in (Fraction(11, 10), Fraction(2))
        ),
        name=lambda horizon, growth: f"T = {horizon}, e^eta = {growth}",
    ),
)
def _step_size(horizon: int, growth: Fraction) -> bool:
    """eta = sqrt(log(mu_T / mu_1) / T) / B can be chosen.

    Ours: not where the price fell: the root of a negative number, for every eta above 0
    Paper: choosing eta = sqrt(log(mu_T / mu_1) / T) / B
    Note: Where it rose, mu_T depends on eta, and is known when all is over. With log(mu_max / mu_1)
    or a constant in its place the rate is right."""
    market = markets.Market(growth=growth)
    return markets.played(market, [(Fraction(),)] * (horizon - 1))[-1].following >= market.start
