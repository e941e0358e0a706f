"""What the price rule may be compared with, where a sort is enough: rounds, prices, one purse.

Each takes the true worths. A fixed price is set in hindsight, but chooses as rule (4) does, by what
is seen. What needs a schedule (one set for all rounds; what is gone is gone) is in `schedules`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fluidkv.record import Record
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.pricing import Budget, Pricing
from fluidkv_papers.theory.price_rule.worths import Worths, worths, zero_of


@dataclass(frozen=True)
class FixedPrice(Record):
    """The best price that never moves.

    Fields:
        least_worth: tokens seen to be worth so much or more are wanted: mu c; None: no token is.
        reward: worth of what is kept, over all rounds.
        used: units of memory, over all rounds.

    Examples:
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv_papers.theory.price_rule import best_fixed_price
        >>> returns, risk = [[1, 0.5], [1, 0.5]], np.zeros((2, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[2, 2], risk=risk)
        >>> best = best_fixed_price(pool, 1)
        >>> float(best.least_worth), float(best.reward), best.used
        (1.0, 2.0, 2)
    """

    least_worth: Any
    reward: Any
    used: int


def round_optimum(pool: Pool, budget: int, pricing: Pricing | None = None) -> np.ndarray:
    """The most that a set within the budget is worth, of each round: its floor(M / c) best tokens.

    Those that are worth nothing or less are left out. This is the primal programme of Appendix A,
    solved: its linear relaxation is worth more only where c does not divide M.

    Args:
        budget: M, units of memory.
        pricing: says what a token is worth; its return where None.

    Returns:
        shape (round,); floats, or Fractions where the pool has them.

    Examples:
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv_papers.theory.price_rule import round_optimum
        >>> returns, risk = [[1, 1], [0.25, 0.5]], np.zeros((2, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[2, 2], risk=risk)
        >>> round_optimum(pool, budget=1).tolist()
        [1.0, 0.5]
    """
    given = worths(pool, budget, pricing)
    best = [
        sum(sorted(row[here & (row > 0)], reverse=True)[: given.slots], zero_of(given.true))
        for row, here in zip(given.true, given.present, strict=True)
    ]
    return np.array(best, given.true.dtype)


def purse_optimum(pool: Pool, budget: int, pricing: Pricing | None = None) -> Any:
    """The most that can be had if all rounds together use T M: the best of all rounds' tokens.

    It may use more than M in one round and less in another, and take up again what it left. Against
    it no online rule has sublinear regret on every sequence (`sequences.two_futures`).

    Examples:
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv_papers.theory.price_rule import purse_optimum, round_optimum
        >>> returns, risk = [[1, 1], [0.25, 0.5]], np.zeros((2, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[2, 2], risk=risk)
        >>> float(purse_optimum(pool, 1)), float(round_optimum(pool, 1).sum())  # 1 + 1, 1 + 1/2
        (2.0, 1.5)
    """
    given = worths(pool, budget, pricing)
    most = len(given.true) * budget // pool.cost
    values = sorted(given.true[given.present & (given.true > 0)], reverse=True)
    return sum(values[:most], zero_of(given.true))


def best_fixed_price(
    pool: Pool, budget: int, reading: Budget = Budget.NETTED, pricing: Pricing | None = None
) -> FixedPrice:
    """The price, the same in all rounds, that brings most: over all prices, exactly.

    What a price wants changes only at values that occur, so these are all that is tried, and 0,
    below which no price may be. Ties cannot be split by a price.

    NETTED: all rounds together may use T M. HARD: of what is wanted the best that fit stay. There,
    if the rule sees what is true, price 0 is best, and brings what `round_optimum` brings: who
    truncates needs no price.

    Examples:
        >>> from fluidkv.tokenpd.pricing import Budget
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv_papers.theory.price_rule import best_fixed_price
        >>> returns, risk = [[1, 0.5], [0.25, 0.5]], np.zeros((2, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[2, 2], risk=risk)
        >>> [float(best_fixed_price(pool, 1, reading).reward) for reading in Budget]
        [1.0, 1.5]
    """
    given = worths(pool, budget, pricing)
    allowed = given.present & (given.seen >= 0)
    most = len(given.true) * budget // pool.cost
    if reading is Budget.HARD:
        allowed = allowed & _best_seen(given, pool.arrival)
        most = int(allowed.sum())
    seen, true = given.seen[allowed], given.true[allowed]
    order = sorted(range(len(seen)), key=lambda at: seen[at], reverse=True)
    best = FixedPrice(None, zero_of(given.true), 0)
    reward = zero_of(given.true)
    for count, at in enumerate(order[:most], start=1):
        reward = reward + true[at]
        tied = count < len(order) and seen[order[count]] == seen[at]
        if not tied and reward > best.reward:
            best = FixedPrice(seen[at], reward, count * pool.cost)
    return best


def _best_seen(given: Worths, arrival: np.ndarray) -> np.ndarray:
    """Of each round the tokens that look best, as many as fit; the newer of equals, as the rule."""
    best = np.zeros(given.seen.shape, bool)
    for row, here, chosen in zip(given.seen, given.present, best, strict=True):
        order = sorted(np.flatnonzero(here), key=lambda token: (row[token], arrival[token], token))
        chosen[order[-given.slots :]] = True
    return best
