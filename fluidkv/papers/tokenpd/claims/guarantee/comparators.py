"""Token-PD, section 3: what regret is against, and what the guarantee says of each comparator."""

from fractions import Fraction
from itertools import product

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
    sequences,
    shown,
)
from fluidkv.papers.tokenpd.paper import statements
from fluidkv.verdict import Verdict

CLAIMS = statements(origin=Origin.READING)

_PLACE = "section 3, definition of regret"
_ZERO = Fraction(0)


def fixed_set(market: Market, rounds: Rounds) -> Fraction:
    """The best set of tokens kept in all rounds; column j of the rounds is token j."""
    totals = tuple(sum(column, _ZERO) for column in zip(*rounds, strict=True))
    return best(market, totals)


_TOKENS = Range(
    "two tokens in two rounds, worth 0, 1/2 or 1, M = c = 1",
    lambda: (((rows[:2], rows[2:]),) for rows in product((_ZERO, HALF, ONE), repeat=4)),
    name=lambda rounds: f"rounds {shown(rounds)}",
)


@CLAIMS.over(
    _TOKENS,
    "section-3.regret.one-set.below",
    _PLACE,
    "The best one set of tokens, kept in all rounds, earns no more than the optima of the rounds.",
    ours="so whatever bounds regret against these bounds it against that",
    paper="max over x in {0, 1}^|T|",
)
def _below(rounds: Rounds) -> bool:
    market = Market()
    return fixed_set(market, rounds) <= sum(best(market, values) for values in rounds)


@CLAIMS.over(
    _TOKENS,
    "section-3.regret.one-set.clairvoyant",
    _PLACE,
    "The max over one x is what a clairvoyant earns who knows the entire conversation.",
    expected=Verdict.FAILS,
    ours="who knows it may change x from round to round",
    paper="an offline clairvoyant that knows the entire conversation; max over x in {0, 1}^|T|",
    note="The formula has no x behind its max, so it does not say which is meant.",
)
def _clairvoyant(rounds: Rounds) -> bool:
    market = Market()
    return fixed_set(market, rounds) == sum(best(market, values) for values in rounds)


@CLAIMS.over(
    Range(
        "one round of up to three tokens worth 0, 1/2 or 1, M = 1, 2, c = 1, delta = 1/4",
        lambda: (
            (Market(memory), values)
            for (values,) in sequences((_ZERO, HALF, ONE), tokens=3, rounds=1)
            for memory in (1, 2)
        ),
    ),
    "section-3.regret.utility-2",
    f"{_PLACE}, with (2)",
    "With utility (2) as printed, all sets of as many tokens are worth the same, so regret is "
    "delta times a difference of counts.",
    ours="(2) counts R whether x is 1 or 0",
    paper="U(x) = sum of (R - lambda sigma^2 - (1 - x) delta)",
    note="Then whoever fills M has no regret, whatever it keeps. What follows takes R from kept "
    "tokens alone.",
)
def _utility_2(market: Market, values: Values) -> bool:
    penalty = Fraction(1, 4)

    def utility(kept: tuple[int, ...]) -> Fraction:
        return sum((a - (1 - x) * penalty for a, x in zip(values, kept, strict=True)), _ZERO)

    found: dict[int, set[Fraction]] = {}
    for kept in product((0, 1), repeat=len(values)):
        found.setdefault(sum(kept), set()).add(utility(kept))
    fits = max((k for k in found if k <= market.tokens), default=0)
    most = max(u for k, values_of in found.items() if k <= market.tokens for u in values_of)
    return all(len(each) == 1 for each in found.values()) and found[fits] == {most}


# --------------------------------------------------------------------- freedom that both have


def halves(horizon: int) -> Rounds:
    """Two tokens worth 1/2 a round, and none in the second half."""
    return ((HALF, HALF),) * (horizon // 2) + ((),) * (horizon // 2)


def in_all(market: Market, rounds: Rounds) -> Fraction:
    """The clairvoyant who may use M a round on average: the best T M / c of all tokens."""
    everything = tuple(a for values in rounds for a in values)
    return best(Market(market.memory * len(rounds), market.cost), everything)


@CLAIMS.over(
    Range(
        "M = c = 1, mu_1 = 1/2, T = 4, 8 ... 128, e^eta = 1001/1000, 2, 10; two tokens worth 1/2 "
        "for T / 2 rounds, then none",
        lambda: (
            (4 * n, growth)
            for n in range(1, 33)
            for growth in (Fraction(1001, 1000), Fraction(2), Fraction(10))
        ),
    ),
    "section-4.guarantee.regret.in-all.quarter",
    "section 4, the theorem",
    "Against a clairvoyant who too may use M only on average, regret is T / 4 on such a sequence.",
    ours="in all T divisible by 4, for any step: the price goes up and down between two values",
    paper="Regret(T) = O(sqrt(T)); relative to the offline optimum",
)
def _quarter(horizon: int, growth: Fraction) -> bool:
    market, rounds = Market(start=HALF, growth=growth), halves(horizon)
    earned = sum(sum(turn.kept, _ZERO) for turn in played(market, rounds))
    return in_all(market, rounds) - earned == Fraction(horizon, 4)


@CLAIMS.claim(
    "section-4.guarantee.regret.in-all",
    "section 4, the theorem",
    "Regret is O(sqrt(T)) against a clairvoyant who too may use M only on average.",
    expected=Verdict.FAILS,
    checked="M = c = 1, mu_1 = 1/2; two tokens worth 1/2 for T / 2 rounds, then none; e^eta = 2",
)
def _in_all() -> Outcome:
    def lost(horizon: int) -> Fraction:
        market, rounds = Market(start=HALF), halves(horizon)
        earned = sum((sum(turn.kept, _ZERO) for turn in played(market, rounds)), _ZERO)
        return in_all(market, rounds) - earned

    return holds_for(
        outgrows(lost),
        ours="T / 4 on two tokens worth 1/2 for half of the time, then none",
        paper="sub-linear loss relative to the offline optimum",
        note="No rule can do it for every sequence: had tokens worth 1 come, those worth 1/2 had "
        "better been left. Reference [1] draws rounds independently of one law, and there it can.",
    )


@CLAIMS.claim(
    "section-4.guarantee.regret.in-all.any-rule",
    "section 4, the theorem",
    "Of two sequences that are alike in their first half, every rule that is netted to M loses "
    "T / 4 on one, against a clairvoyant who may use M on average.",
    checked="M = c = 1, T = 4, 8 ... 64, every count that may be kept in the first half",
)
def _any_rule() -> Outcome:
    """Two tokens worth 1/2 a round; then two worth 1, or none. A rule keeps s in the first half."""
    bad = None
    for horizon in range(4, 65, 4):
        for kept in range(horizon + 1):
            # Then none come: T / 2 is to be had. Then two worth 1 come: T is, with s of T used.
            worst = max(HALF * (horizon - kept), horizon - (HALF * kept + (horizon - kept)))
            if worst < Fraction(horizon, 4):
                bad = bad or f"T = {horizon}: {kept} kept, at most {worst} lost"
    return holds_for(
        bad,
        ours="of T tokens, s of them worth 1/2, it loses s / 2 or (T - s) / 2",
        paper="Regret(T) = O(sqrt(T))",
    )
