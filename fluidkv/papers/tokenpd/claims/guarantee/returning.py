"""Token-PD: whether a token that was evicted can come back, and what regret then counts."""

from fractions import Fraction

from fluidkv.ledger.claim import Origin, Outcome
from fluidkv.ledger.outcomes import holds_for
from fluidkv.ledger.ranges import Range
from fluidkv.papers.tokenpd.instances.rounds import HALF, Market, outgrows, regret
from fluidkv.papers.tokenpd.paper import statements
from fluidkv.verdict import Verdict

CLAIMS = statements(origin=Origin.READING)

_ZERO = Fraction(0)


@CLAIMS.over(
    Range(
        "one token worth 1/2 a round, M = c = 1, mu_1 = 1, q = 2, T = 1 ... 64",
        lambda: range(1, 65),
    ),
    "section-4.guarantee.regret.returns",
    "section 4, the theorem, with section 3",
    "Where an evicted token may be kept again, at no cost, one token worth 1/2 is lost once.",
    ours="the price falls to it, and it is kept ever after",
    paper="evicted and will later be recomputed at latency penalty delta",
    note="Appendix A chooses among all tokens anew each round, and charges nothing for a return.",
)
def _returns(horizon: int) -> bool:
    return regret(Market(), [(HALF,)] * horizon) == HALF


@CLAIMS.claim(
    "section-4.guarantee.regret.gone",
    "section 4, the theorem, with section 3",
    "Where what is evicted is gone, regret is O(sqrt(T)) against the best one set.",
    expected=Verdict.FAILS,
    checked="one token worth 1/2 a round, M = c = 1, mu_1 = 1",
)
def _gone() -> Outcome:
    def lost(horizon: int) -> Fraction:
        market, there, total = Market(), True, _ZERO
        price = market.start
        for _ in range(horizon):
            there = there and HALF - price >= 0
            price = price * market.growth ** (int(there) - market.memory)
            total += _ZERO if there else HALF
        return total

    return holds_for(
        outgrows(lost),
        ours="T / 2: it is refused once, at the first price, and kept by no price after",
        paper="Regret(T) = O(sqrt(T))",
        note="Whoever knows the future and cannot bring back either, keeps it. A start below all "
        "values spares this token; a rise of the price for one round takes it again.",
    )
