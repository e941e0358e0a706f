"""Token-PD, (4): a test of each token against the price, and what it has of an optimum."""

from collections.abc import Iterator
from fractions import Fraction

from fluidkv.ledger import Range
from fluidkv_papers.tokenpd.instances import rounds as markets
from fluidkv_papers.tokenpd.instances.rounds import HALF, ONE
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements()

_PRICES = tuple(Fraction(n, 4) for n in range(5))


def _rounds() -> Iterator[tuple[markets.Market, markets.Values]]:
    """A round at a price."""
    for (values,) in markets.sequences((Fraction(1, 4), HALF, ONE), tokens=3, rounds=1):
        for memory, cost in ((1, 1), (2, 1), (3, 2)):
            for price in _PRICES:
                yield markets.Market(memory, cost, price), values


_ROUND = Range(
    "up to three tokens worth 1/4, 1/2 or 1, (M, c) = (1, 1), (2, 1), (3, 2), prices 0 ... 1",
    _rounds,
    name=lambda market, values: f"{markets.shown([values])} at {market}",
)


@CLAIMS.claim("equation-4.independent", "(4)", over=_ROUND)
def _independent(market: markets.Market, values: markets.Values) -> bool:
    """What (4) decides of a token does not depend on the other tokens of its round.

    Paper: applies independently to every token
    Note: They do, together, on the price of the next round."""
    (together,) = markets.played(market, [values])
    alone = [turn for a in values for turn in markets.played(market, [(a,)])]
    return sorted(together.kept) == sorted(a for turn in alone for a in turn.kept)


@CLAIMS.claim("equation-4.kkt.optimal", "(4)", over=_ROUND)
def _optimal(market: markets.Market, values: markets.Values) -> bool:
    """Where (4) uses just M, or no more at a price of 0, it keeps an optimum of the round.

    Ours: so the price is right where complementary slackness holds
    Paper: a greedy admission test reminiscent of Karush-Kuhn-Tucker conditions
    Note: Other prices need not: one above 0 may stand over an empty memory."""
    (turn,) = markets.played(market, [values])
    complementary = turn.excess == 0 or (turn.excess < 0 and turn.price == 0)
    return not complementary or sum(turn.kept) == markets.relaxed_best(market, values)
