"""Token-PD, Appendix A: integral rounding of a rule that is integral."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from fluidkv.ledger import Origin, Range
from fluidkv_papers.tokenpd.instances import rounds as markets
from fluidkv_papers.tokenpd.instances.rounds import HALF, ONE
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements()

_PLACE = "Appendix A, integral rounding"


def _rounds() -> Iterator[tuple[markets.Market, markets.Values]]:
    for (values,) in markets.sequences((Fraction(1, 4), HALF, ONE), tokens=3, rounds=1):
        for memory, cost in ((1, 1), (2, 1), (3, 2)):
            for n in range(1, 9):
                yield markets.Market(memory, cost, Fraction(n, 8)), values


_ROUND = Range(
    "a round of up to three tokens worth 1/4, 1/2 or 1, prices 1/8 ... 1, (M, c) = (1, 1), (2, 1), "
    "(3, 2)",
    _rounds,
    name=lambda market, values: f"one round of {markets.shown([values])} at {market}",
)


def rounded(market: markets.Market, values: markets.Values) -> markets.Values:
    """What the rule of the last paragraph keeps."""
    return tuple(a for a in sorted(values, reverse=True) if a - market.start * market.cost > 0)


def _tie(market: markets.Market, values: markets.Values) -> bool:
    return any(a == market.start * market.cost for a in values)


@CLAIMS.fails("appendix-a.rounding.same", _PLACE, over=_ROUND, kind="lemma")
def _same(market: markets.Market, values: markets.Values) -> bool:
    """The rounding rule, a > mu c, keeps what (2), a >= mu c, keeps.

    Ours: not a token that is worth its price
    Paper: this is exactly the integral solution already produced by Token-PD
    Note: By ties alone; (2) is integral and needs no rounding.
    Holds: appendix-a.rounding.no-ties, appendix-a.rounding.preserves,
    appendix-a.rounding.small-cost"""
    (turn,) = markets.played(market, [values])
    return sorted(rounded(market, values)) == sorted(turn.kept)


@CLAIMS.fails(
    "appendix-a.rounding.increases", _PLACE, over=_ROUND, origin=Origin.READING, kind="lemma"
)
def _increases(market: markets.Market, values: markets.Values) -> bool:
    """In each round, the rounding increases neither the regret nor what is left free of M.

    Ours: a token worth its price is discarded: a more of regret, and c more of slack
    Paper: cannot increase either the regret or the budget slack
    Note: By ties alone. Bounds on all rounds are as before, which may be what is meant.
    Holds: appendix-a.rounding.preserves"""
    (turn,), after = markets.played(market, [values]), rounded(market, values)
    kept, most = turn.kept, turn.optimum
    return most - sum(after) <= most - sum(kept) and len(after) >= len(kept)


@CLAIMS.claim(
    "appendix-a.rounding.no-ties",
    _PLACE,
    over=replace(
        _ROUND,
        cases=lambda: (case for case in _rounds() if not _tie(*case)),
        words=f"{_ROUND.words}, none worth its price",
    ),
    origin=Origin.READING,
    kind="lemma",
)
def _no_ties(market: markets.Market, values: markets.Values) -> bool:
    """Without ties the rounding rule keeps what (2) keeps.

    Paper: this is exactly the integral solution already produced by Token-PD"""
    (turn,) = markets.played(market, [values])
    return sorted(rounded(market, values)) == sorted(turn.kept)


@CLAIMS.claim("appendix-a.rounding.preserves", _PLACE, over=_ROUND, kind="lemma")
def _preserves(market: markets.Market, values: markets.Values) -> bool:
    """What the rounding keeps maximises L at its price as (2) does, so that the bounds on regret
    and violation hold for it.

    Paper: thus preserving (3)
    Note: At a tie a token adds a - mu c = 0 to L. The proofs of section-4.guarantee.regret.netted
    and .violation.netted need no more of x_t."""
    # L less mu M, of what is kept: no token below its price, and none above it missing.
    price = market.start * market.cost
    kept = rounded(market, values)
    most = sum((max(a - price, Fraction()) for a in values), Fraction())
    weak = markets.relaxed_best(market, values) <= sum(kept) + market.start * (
        market.memory - market.cost * len(kept)
    )
    return sum((a - price for a in kept), Fraction()) == most and weak
