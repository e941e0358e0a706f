"""Small markets in which nothing is rounded: rounds that are written down, prices in rationals.

Prices are mu_1 q^S with q = exp(eta / M) and S the units of memory used above M so far, less those
left free. With q rational all is exact, and with any q > 1 there is a step eta = M log q.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

from fluidkv import tokenpd
from fluidkv.ledger import np
from fluidkv.tokenpd import knapsack
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.pricing import Budget, Demand

Values = tuple[Fraction, ...]
"""What the tokens of a round are worth, a = R - lambda sigma^2; each is there for one round."""
Rounds = tuple[Values, ...]

ZERO, HALF, ONE = Fraction(0), Fraction(1, 2), Fraction(1)
HORIZONS = tuple(4**k for k in range(1, 6))
"""Rounds T of which 1 / sqrt(T) is rational."""


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
        price: mu_t. kept: worth of what is kept. excess: c k - M of it.
        earned, optimum: worth of what is kept, and of the best that fit.
        following: mu_(t+1).
    """

    price: Fraction
    kept: Values
    excess: int
    earned: Fraction
    optimum: Fraction
    following: Fraction


def pool_of(rounds: Sequence[Values], cost: int = 1) -> Pool:
    """Tokens that are there for one round each."""
    arrival = np.repeat(np.arange(len(rounds)), [len(values) for values in rounds])
    returns = np.full((len(rounds), len(arrival)), ZERO, object)
    returns[arrival, np.arange(len(arrival))] = [a for values in rounds for a in values]
    risk = np.full(returns.shape, ZERO, object)
    return Pool(returns, arrival, arrival, arrival + 1, risk, cost=cost)


def played(market: Market, rounds: Sequence[Values]) -> list[Turn]:
    """What rule (4) keeps and (5) does to the price."""
    pool = pool_of(rounds, market.cost)
    start: Any = market.start
    run = knapsack.literal.literal_rounds(
        pool,
        market.memory,
        tokenpd.Pricing(1, start, market.budget, market.demand),
        price_at=lambda imbalance: market.start * market.growth**imbalance,
    )
    kept = [tuple(returns[mask]) for returns, mask in zip(pool.returns, run.kept, strict=True)]
    excess = [int(used) - market.memory for used in run.used]
    price = run.price.tolist()
    totals = (list(map(Fraction, each)) for each in (run.reward, run.optimum))
    return list(map(Turn, price[:-1], kept, excess, *totals, price[1:]))


def regret(market: Market, rounds: Sequence[Values]) -> Fraction:
    """Against the optimum of each round."""
    return sum((turn.optimum - turn.earned for turn in played(market, rounds)), ZERO)


def relaxed_best(market: Market, values: Values) -> Fraction:
    """The optimum of a round where part of a token may be kept, as Appendix A relaxes it."""
    ranked = sorted(values, reverse=True)
    room = Fraction(market.memory, market.cost)
    return sum((a * max(ZERO, min(ONE, room - k)) for k, a in enumerate(ranked)), ZERO)


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
    """Where a series of T is first above C sqrt(T), C = 1, 2, 4; None if it is not for each C."""
    found = []
    for limit in (1, 2, 4):
        horizon = next((t for t in HORIZONS if max(series(t), 0) ** 2 > limit**2 * t), None)
        if horizon is None:
            return None
        found.append(f"{limit} sqrt(T) at T = {horizon}")
    return "more than " + ", ".join(found)
