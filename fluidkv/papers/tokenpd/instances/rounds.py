"""Rule (4) with (5) on rounds that are written down, in rationals: nothing is rounded.

Prices are mu_1 q^S with q = exp(eta / M) and S the units of memory used above M so far, less those
left free. With q rational all is exact, and with any q > 1 there is a step eta = M log q.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import NamedTuple

from fluidkv.tokenpd.pricing import Budget, Demand

Values = tuple[Fraction, ...]
"""What the tokens of a round are worth, a = R - lambda sigma^2."""
Rounds = tuple[Values, ...]

HALF, ONE = Fraction(1, 2), Fraction(1)
HORIZONS = tuple(4**k for k in range(1, 7))


@dataclass(frozen=True)
class Market:
    """Memory and prices.

    Fields:
        memory, cost: M and c, in units of memory.
        start: mu_1. growth: q = exp(eta / M).
        budget, demand: which reading.
    """

    memory: int = 1
    cost: int = 1
    start: Fraction = ONE
    growth: Fraction = Fraction(2)
    budget: Budget = Budget.NETTED
    demand: Demand = Demand.WANTED

    @property
    def tokens(self) -> int:
        """How many fit."""
        return self.memory // self.cost

    def __str__(self) -> str:
        return f"M = {self.memory}, c = {self.cost}, mu_1 = {self.start}, e^(eta/M) = {self.growth}"


class Turn(NamedTuple):
    """One round.

    Fields:
        price: mu_t. kept: worth of what is kept. excess: c k - M of what is kept.
        following: mu_(t+1).
    """

    price: Fraction
    kept: Values
    excess: int
    following: Fraction


def played(market: Market, rounds: Sequence[Values]) -> list[Turn]:
    """What rule (4) keeps and (5) does to the price."""
    turns, used = [], 0
    for values in rounds:
        price = market.start * market.growth**used
        wanted = [a for a in sorted(values, reverse=True) if a - price * market.cost >= 0]
        kept = wanted if market.budget is Budget.NETTED else wanted[: market.tokens]
        seen = wanted if market.demand is Demand.WANTED else kept
        used += market.cost * len(seen) - market.memory
        excess = market.cost * len(kept) - market.memory
        turns.append(Turn(price, tuple(kept), excess, market.start * market.growth**used))
    return turns


def best(market: Market, values: Values) -> Fraction:
    """The optimum of a round: the best that fit."""
    return sum(sorted(values, reverse=True)[: market.tokens], Fraction())


def relaxed_best(market: Market, values: Values) -> Fraction:
    """The same where a part of a token may be kept, as Appendix A relaxes it."""
    ranked = sorted(values, reverse=True)
    room = Fraction(market.memory, market.cost)
    return sum((a * max(Fraction(), min(ONE, room - k)) for k, a in enumerate(ranked)), Fraction())


def regret(market: Market, rounds: Sequence[Values]) -> Fraction:
    """Against the optimum of each round."""
    earned = sum((sum(turn.kept, Fraction()) for turn in played(market, rounds)), Fraction())
    return sum((best(market, values) for values in rounds), Fraction()) - earned


def sequences(
    values: Sequence[Fraction], *, tokens: int, rounds: int
) -> Iterator[tuple[Values, ...]]:
    """All of up to so many rounds of up to so many tokens, fewest rounds first."""
    one = [v for n in range(tokens + 1) for v in combinations_with_replacement(values, n)]
    for length in range(1, rounds + 1):
        yield from product(one, repeat=length)


def shown(rounds: Sequence[Values]) -> str:
    """As a reader sees them: "(1, 1), (1/2), ()"."""
    return ", ".join(f"({', '.join(map(str, values))})" for values in rounds)


def outgrows(series: Callable[[int], Fraction | int]) -> str | None:
    """Horizons from which on a series has passed C sqrt(T), C = 1, 2, 4, 8; None if not for all."""
    found = []
    for limit in (1, 2, 4, 8):
        horizon = next((t for t in HORIZONS if max(series(t), 0) ** 2 > limit**2 * t), None)
        if horizon is None:
            return None
        found.append(f"{limit} sqrt(T) at T = {horizon}")
    return "more than " + ", ".join(found)
