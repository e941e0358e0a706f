"""Token-PD, Appendix A: the Fenchel gap, what it bounds, and where it is infinite.

G_t = max_x L(x, mu_t) - min over mu >= 0 of L(x_t, mu). The first is L(x_t, mu_t), since x_t is
greedy. L(x_t, mu) has the slope M - c k_t in mu: where a round uses more than M the minimum is
minus infinity, and elsewhere it is at mu = 0, so that G_t = mu_t (M - c k_t).
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import isqrt

from fluidkv.ledger import Finding, Origin, Range
from fluidkv_papers.tokenpd.instances import rounds as markets
from fluidkv_papers.tokenpd.instances.rounds import HALF, ONE
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements(origin=Origin.READING)
APPENDIX_A_GAP = CLAIMS.section("appendix-a.gap", "Appendix A, Fenchel gap", kind="lemma")

_BY_TURNS = ((ONE, ONE), ())
"""Rounds of two tokens and of none: M = c = 1."""


def _rounds() -> Iterator[tuple[markets.Market, markets.Values]]:
    for (values,) in markets.sequences((Fraction(1, 4), HALF, ONE), tokens=3, rounds=1):
        for memory, cost in ((1, 1), (2, 1), (3, 2)):
            for n in range(1, 5):
                yield markets.Market(memory, cost, Fraction(n, 4)), values


_ROUND = Range(
    "a round of up to three tokens worth 1/4, 1/2 or 1, prices 1/4 ... 1, (M, c) = (1, 1), (2, 1), "
    "(3, 2)",
    _rounds,
    name=lambda market, values: f"one round of {markets.shown([values])} at {market}",
)


def least(turn: markets.Turn, prices: tuple[Fraction, ...]) -> Fraction:
    """min of L(x_t, mu) over these prices."""
    return sum(turn.kept, Fraction()) + min(-price * turn.excess for price in prices)


def _gap(turn: markets.Turn, ceiling: Fraction | None = None) -> Fraction | None:
    """G_t over prices from 0 to the ceiling; None where it is infinite.

    L is affine in mu, so that its least value is at an end.
    """
    if ceiling is None and turn.excess > 0:
        return None
    ends = (Fraction(),) if ceiling is None else (Fraction(), ceiling)
    return least(turn, (turn.price,)) - least(turn, ends)


@APPENDIX_A_GAP.fails("finite", over=_ROUND)
def _finite(market: markets.Market, values: markets.Values) -> bool:
    """The gap of a round, as it is defined, is finite, which a bound on the sum of gaps needs.

    Ours: infinite in each round that uses more than M, which (2) does not forbid
    Paper: max of L(x, mu_t) less min over mu >= 0 of L(x_t, mu)
    Note: Then the displayed bound on the sum fails too; it fails where all gaps are finite
    (appendix-a.descent.inequality). Finite with prices up to a ceiling.
    Holds: appendix-a.gap.feasible, appendix-a.gap.upper-bounds, appendix-a.gap.ceiling"""
    (turn,) = markets.played(market, [values])
    return _gap(turn) is not None


@APPENDIX_A_GAP.claim("feasible", over=_ROUND)
def _feasible(market: markets.Market, values: markets.Values) -> bool:
    """Where a round uses no more than M, its gap is mu_t (M - c k_t).

    Paper: max of L(x, mu_t) less min over mu >= 0 of L(x_t, mu)"""
    (turn,) = markets.played(market, [values])
    most = market.memory * turn.price + sum(max(a - turn.price * market.cost, 0) for a in values)
    return turn.excess > 0 or most - least(turn, (Fraction(),)) == -turn.price * turn.excess


@APPENDIX_A_GAP.claim("upper-bounds", over=_ROUND, origin=Origin.PRINTED)
def _upper_bounds(market: markets.Market, values: markets.Values) -> bool:
    """The gap of a round, as printed, is no less than its regret, nor than what it uses above M.

    Ours: by weak duality where it is finite, and infinite where M is passed
    Paper: upper-bounds both the true regret and the cumulative feasibility violation
    Note: So it bounds the violation only where there is none, or by infinity."""
    (turn,) = markets.played(market, [values])
    gap = _gap(turn)
    lost = markets.relaxed_best(market, values) - sum(turn.kept)
    return gap is None or gap >= max(lost, turn.excess)


_SIGNED = replace(_ROUND, words=f"{_ROUND.words}; -mu_t (c k_t - M), finite in each round")


@APPENDIX_A_GAP.claim("signed.regret", over=_SIGNED)
def _signed_regret(market: markets.Market, values: markets.Values) -> bool:
    """With 0 for the second price, which makes it finite, the gap is no less than the regret.

    Paper: upper-bounds both
    Note: This is what the bound of section-4.guarantee.regret.netted adds up. It bounds no use
    above M: there it is negative or 0."""
    (turn,) = markets.played(market, [values])
    return -turn.price * turn.excess >= markets.relaxed_best(market, values) - sum(turn.kept)


@APPENDIX_A_GAP.claim("ceiling", over=replace(_ROUND, words=f"{_ROUND.words}; a ceiling of 2"))
def _ceiling(market: markets.Market, values: markets.Values) -> bool:
    """With prices up to a ceiling, the gap is no less than the regret, nor than (ceiling - mu_t)
    times what is used above M.

    Ours: so than the violation, if the ceiling is 1 above all prices
    Paper: upper-bounds both"""
    (turn,) = markets.played(market, [values])
    ceiling = Fraction(2)
    gap = _gap(turn, ceiling) or Fraction()
    lost = markets.relaxed_best(market, values) - sum(turn.kept)
    return gap >= max(lost, (ceiling - turn.price) * turn.excess)


# -------------------------------------------------------------------------------- sums of gaps


def _sum(
    market: markets.Market, rounds: markets.Rounds, ceiling: Fraction | None = None
) -> Fraction:
    """Of the finite ones."""
    gaps = (_gap(turn, ceiling) for turn in markets.played(market, rounds))
    return sum((gap for gap in gaps if gap is not None), Fraction())


@APPENDIX_A_GAP.fails("sum.ceiling")
def _with_ceiling() -> Finding:
    """With prices up to a ceiling, which makes all gaps finite, they are O(sqrt(T)) in all.

    Checked: two tokens worth 1 and none by turns, M = c = 1, mu_1 = 1, a ceiling of 2, e^eta = 1 +
    1 / sqrt(T)
    Ours: (1 + e^eta) T / 2: each round has a best price of its own to compare with
    Paper: sum of G = O(sqrt(T))
    Note: Mirror descent compares with one price for all rounds: with the minimum outside the sum it
    holds. Without a ceiling, the gaps of the rounds that have finite ones are linear in all, too.
    Holds: appendix-a.gap.ceiling, appendix-a.gap.sum.never-full,
    appendix-a.descent.inequality.repaired"""

    def summed(horizon: int) -> Fraction:
        growth = 1 + Fraction(1, isqrt(horizon))
        return _sum(markets.Market(growth=growth), _BY_TURNS * (horizon // 2), Fraction(2))

    return Finding(markets.outgrows(summed))


@APPENDIX_A_GAP.claim(
    "sum.never-full",
    over=lambda: (
        (markets.Market(memory, 1, start, Fraction(3, 2)), rounds)
        for rounds in markets.sequences((HALF, ONE), tokens=1, rounds=3)
        for memory in (1, 2)
        for start in (HALF, Fraction(2))
    ),
)
def _never_full(market: markets.Market, rounds: markets.Rounds) -> bool:
    """Where no round uses more than M, the gaps are at most M mu_1 / (1 - e^(-eta)) in all.

    Checked: up to three rounds of up to one token worth 1/2 or 1, M = 1, 2, mu_1 = 1/2, 2,
    e^(eta/M) = 3/2
    Ours: so O(sqrt(T)): the price only falls
    Paper: sum of G = O(sqrt(T))"""
    most = market.memory * market.start / (1 - market.growth**-market.memory)
    return _sum(market, rounds) <= most
