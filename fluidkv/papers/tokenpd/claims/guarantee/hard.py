"""Token-PD, sections 3 and 4: the guarantee where no round may use more than M, as (3) says.

Of what (4) wants, the best that fit stay, and (5) sees either what was wanted or what was kept.
"""

from collections.abc import Iterator
from fractions import Fraction

from fluidkv.ledger.claim import Origin, Outcome
from fluidkv.ledger.outcomes import holds_for
from fluidkv.ledger.ranges import Range
from fluidkv.papers.tokenpd.instances.rounds import (
    HALF,
    ONE,
    Market,
    Rounds,
    Values,
    best,
    outgrows,
    played,
    regret,
    sequences,
    shown,
)
from fluidkv.papers.tokenpd.paper import statements
from fluidkv.tokenpd.pricing import Budget, Demand
from fluidkv.verdict import Verdict

CLAIMS = statements(origin=Origin.READING)

_PLACE = "section 4, the theorem, with section 3"
ALTERNATING: tuple[Values, Values] = ((ONE, ONE), (HALF,))
"""Two tokens worth 1, then one worth 1/2: M = c = 1 and mu_1 = 3/4 separate the readings."""
_START = Fraction(3, 4)
_GROWTHS = (Fraction(1001, 1000), Fraction(11, 10), Fraction(2), Fraction(10))


@CLAIMS.over(
    Range(
        "M = c = 1, mu_1 = 1, e^eta = 2, sequences of up to two tokens worth 1/2 or 1, by length",
        lambda: sequences((HALF, ONE), tokens=2, rounds=2),
        name=lambda *rounds: f"one round of {shown(rounds)}: 2 c is used",
    ),
    "section-3.regret.never-violating",
    "section 3, with (4) and (5)",
    "Rule (4) with (5) never uses more than M.",
    expected=Verdict.FAILS,
    ours="the first round of two tokens worth the price, with M = c, uses 2 c",
    paper="while never violating (3); a hard memory budget",
    note="Section 4 has a violation that is sub-linear, so that the two contradict each other; "
    "section 5's heap keeps to M, and is another rule.",
)
def _never(*rounds: Values) -> bool:
    return all(turn.excess <= 0 for turn in played(Market(), rounds))


def _steps() -> Iterator[tuple[Fraction, int]]:
    for growth in _GROWTHS:
        for pairs in range(1, 33):
            yield growth, pairs


_PAIRS = Range(
    "M = c = 1, mu_1 = 3/4, rounds (1, 1), (1/2), (1, 1), (1/2) ..., up to 32 pairs, e^eta = "
    "1001/1000, 11/10, 2, 10",
    _steps,
)


@CLAIMS.over(
    _PAIRS,
    "section-4.guarantee.regret.hard.wanted.half-a-pair",
    _PLACE,
    "Where (5) sees what (4) wanted, an alternating sequence has a regret of T / 4 under the hard "
    "budget, and of -T / 4 where sums are netted.",
    ours="in all T and for all steps: the price is back at mu_1 after each pair",
    paper="Regret(T) = O(sqrt(T))",
    note="Two tokens worth 1 raise the price above 1/2, where the next one is refused; that round "
    "leaves M free, so the price falls back. Only 1/2 < 3/4 < 3/4 e^eta and 3/4 <= 1 are used.",
)
def _separates(growth: Fraction, pairs: int) -> bool:
    rounds = ALTERNATING * pairs
    hard = Market(start=_START, growth=growth, budget=Budget.HARD)
    netted = Market(start=_START, growth=growth)
    back = played(hard, rounds)[-1].following == hard.start
    return back and regret(hard, rounds) == HALF * pairs == -regret(netted, rounds)


@CLAIMS.claim(
    "section-4.guarantee.regret.hard.wanted",
    _PLACE,
    "Under a hard budget, where (5) sees what (4) wanted, regret is O(sqrt(T)).",
    expected=Verdict.FAILS,
    checked="M = c = 1, mu_1 = 3/4, rounds (1, 1), (1/2), (1, 1), (1/2) ..., e^eta = 1001/1000, 2",
)
def _hard_wanted() -> Outcome:
    markets = [Market(start=_START, growth=q, budget=Budget.HARD) for q in _GROWTHS[::2]]
    found = [
        outgrows(lambda t, market=market: regret(market, ALTERNATING * (t // 2)))
        for market in markets
    ]
    return holds_for(
        found[0] if all(found) else None,
        ours="it is T / 4 on a sequence of period two, whatever the step",
        paper="Regret(T) = O(sqrt(T)), while never violating (3)",
        note="Holds where (5) sees what is kept (section-4.guarantee.regret.hard.kept).",
    )


def _kept() -> Iterator[tuple[Market, Rounds]]:
    for rounds in sequences((HALF, ONE), tokens=3, rounds=2):
        for memory, cost in ((1, 1), (2, 1), (3, 2)):
            for start in (Fraction(1, 4), Fraction(2)):
                for growth in (Fraction(11, 10), Fraction(3)):
                    yield Market(memory, cost, start, growth, Budget.HARD, Demand.KEPT), rounds


_KEPT = Range(
    "up to two rounds of up to three tokens worth 1/2 or 1, (M, c) = (1, 1), (2, 1), (3, 2), "
    "mu_1 = 1/4, 2, e^(eta/M) = 11/10, 3",
    _kept,
    name=lambda market, rounds: f"{shown(rounds)} at {market}",
)


@CLAIMS.over(
    _KEPT,
    "section-4.guarantee.regret.hard.kept",
    _PLACE,
    "Where (5) sees what is kept, regret is at most M mu_1 / (1 - e^(-eta)), so O(sqrt(T)) with no "
    "violation.",
    ours="for every sequence, at every T",
    paper="Regret(T) = O(sqrt(T)), while never violating (3)",
    note="A round loses at most mu (M - c k); (5) takes at least mu (1 - e^(-eta)) (M - c k) / M "
    "off the price, by concavity, and the price can fall by mu_1 only once.",
)
def _hard_kept(market: Market, rounds: Rounds) -> bool:
    most = market.memory * market.start / (1 - market.growth**-market.memory)
    never = all(turn.excess <= 0 for turn in played(market, rounds))
    return never and regret(market, rounds) <= most


@CLAIMS.over(
    _KEPT,
    "section-4.guarantee.regret.hard.kept.price-only-falls",
    _PLACE,
    "There the price only falls, and at a price of 0 the rule keeps the best that fit, with a "
    "regret of 0.",
    ours="so a price that starts at 0 is best, and is none",
    paper="an equilibrium that tracks the batch's instantaneous demand",
)
def _only_falls(market: Market, rounds: Rounds) -> bool:
    free = Market(
        market.memory, market.cost, Fraction(0), market.growth, market.budget, market.demand
    )
    falls = all(turn.following <= turn.price for turn in played(market, rounds))
    return falls and regret(free, rounds) == 0


@CLAIMS.over(
    _KEPT,
    "section-4.guarantee.regret.no-price",
    "section 4, the theorem, Appendix A",
    "Keeping the best that fit, without a price, has the optimum of each round.",
    ours="regret 0 and violation 0 in Appendix A's protocol, where a round is seen first",
    paper="at round t the learner observes a vector of coefficients and chooses",
    note="What a price adds is a decision for each token alone, without sorting.",
)
def _no_price(market: Market, rounds: Rounds) -> bool:
    from itertools import combinations

    for values in rounds:
        sets = (
            sum(each, Fraction())
            for n in range(min(market.tokens, len(values)) + 1)
            for each in combinations(values, n)
        )
        if max(sets) != best(market, values):
            return False
    return True
