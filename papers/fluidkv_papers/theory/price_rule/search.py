"""The smallest periodic sequences on which the two readings of the budget part, by looking at all.

M = c = 1 and e^eta is rational, so a run depends on the integer S and on the place in the period.
A run in which both come back goes on like that for ever: what it gains and loses in between is its
long-run rate, exactly. If demand stays below the budget S falls without end, and from some round
on everything is kept: nothing is lost any more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import ceil, log
from typing import Any

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import above_0, count, real
from fluidkv.tokenpd.pricing import Budget, Pricing
from fluidkv_papers.theory.price_rule.cases import pool_of
from fluidkv_papers.theory.price_rule.certified import exact_rounds

Round = tuple[Fraction, ...]
SETTLED = 16
"""Periods that are looked at after the price can have come to any worth."""


@dataclass(frozen=True)
class Separation(Record):
    """A period that is repeated for ever.

    Fields:
        period: the worths of each round.
        rounds: after so many S and the place in the period are the same again.
        hard, netted: regret against the optima of rounds, over so many rounds.
        overuse: sum of [used - M]_+ over them where rounds may overuse.

    Examples:
        >>> from fluidkv_papers.theory.price_rule import separating
        >>> first = separating(longest=1)[0]
        >>> [[str(worth) for worth in row] for row in first.period], first.rounds
        ([['1/2', '1/2']], 2)
        >>> str(first.hard), str(first.netted), str(first.overuse)
        ('1/2', '0', '1')
    """

    period: tuple[Round, ...]
    rounds: int
    hard: Fraction
    netted: Fraction
    overuse: Fraction

    @property
    def size(self) -> tuple[Any, ...]:
        """Rounds of the period, tokens in it that are worth something, their worth."""
        worths = [worth for row in self.period for worth in row]
        return len(self.period), sum(worth > 0 for worth in worths), sum(worths), self.period


def separating(
    values: Sequence[Fraction] = (Fraction(0), Fraction(1, 2), Fraction(1)),
    *,
    tokens: int = 2,
    longest: int = 2,
    base: Fraction = Fraction(11, 10),
    start: Fraction = Fraction(1),
) -> list[Separation]:
    """All periods with linear regret under a hard budget, though not under netted; smallest first.

    Netted regret per round tends to 0 as eta does, on every sequence (`bounds`); here it counts as
    none if it is at most 0 over the cycle.

    Args:
        values: what a token may be worth; 0 stands for none.
        tokens, longest: the most tokens in a round, and rounds in a period.
        base: e^eta.
        start: mu_1.

    Raises:
        InputError: counts below 1, a base that is not above 1, a start that is not above 0, or a
            worth outside [0, 1].

    Examples:
        >>> from fluidkv_papers.theory.price_rule import separating
        >>> found = separating(longest=1)  # two tokens of one worth, in every round
        >>> [[str(worth) for worth in each.period[0]] for each in found]
        [['1/2', '1/2'], ['1', '1']]
    """
    count("tokens", tokens)
    count("longest", longest)
    above_0("start", start)
    if not real(base) > 1:
        raise InputError("base", base, "a rational above 1")
    if not values or not all(0 <= real(value) <= 1 for value in values):
        raise InputError("values", values, "numbers within 0 and 1")
    rows = list(combinations_with_replacement(values, tokens))
    periods = [each for length in range(1, longest + 1) for each in product(rows, repeat=length)]
    found = [long_run(period, base=base, start=start) for period in periods if _is_shortest(period)]
    parted = [each for each in found if each is not None and each.hard > 0 >= each.netted]
    return sorted(parted, key=lambda each: each.size)


def long_run(period: tuple[Round, ...], *, base: Fraction, start: Fraction) -> Separation | None:
    """What the period comes to in the long run; None where S falls without end.

    Raises:
        RuntimeError: neither was seen.
    """
    length = len(period)
    worths = [worth for row in period for worth in row if worth > 0]
    away = max((abs(log(worth / start)) for worth in worths), default=0.0)
    pool = pool_of(period * (SETTLED + ceil(away / log(base))))
    price: Any = start
    hard, netted = (
        exact_rounds(pool, 1, Pricing(1, price, reading), base=base)
        for reading in (Budget.HARD, Budget.NETTED)
    )
    levels = [int(each) for each in netted.imbalance[::length]]
    for at, level in enumerate(levels):
        if level in levels[:at]:
            span = slice(levels.index(level) * length, at * length)
            lost = [
                sum(run.optimum[span] - run.reward[span], Fraction(0)) for run in (hard, netted)
            ]
            over = sum(max(0, int(used) - 1) for used in netted.used[span])
            return Separation(period, span.stop - span.start, lost[0], lost[1], Fraction(over))
    everything = (netted.wanted[-length:] == (pool.returns[-length:] > 0)).all()
    if not (everything and levels[-1] < levels[-2]):
        raise RuntimeError(f"neither a cycle nor a fall is seen: {period}")
    return None


def _is_shortest(period: tuple[Round, ...]) -> bool:
    """No shorter one repeated."""
    return all(
        period != period[:part] * (len(period) // part)
        for part in range(1, len(period))
        if len(period) % part == 0
    )
