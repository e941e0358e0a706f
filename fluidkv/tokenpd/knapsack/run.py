"""What a run over a pool's rounds left behind, whoever ran it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import count


@dataclass(frozen=True)
class PriceRun(Record):
    """Rounds of a price rule, or of a heap, over a `Pool`.

    Fields:
        price: mu in each round, and after the last.
        wanted: what rule (4) wants; of a heap, what was held or new when it was asked for space.
        kept: what stayed.
        used: memory of it; above the budget at most where that is netted.
        imbalance: S, the sum of what (5) saw minus M over the rounds before; and after the last.
        reward: realised worth of what stayed.
        optimum: realised worth of the best M // c tokens present, as far as it is positive: no set
            of tokens that fits is worth more in the round.
        brought_back: tokens that stayed and were there, but not kept, in the round before: each is
            recomputed, which costs the penalty delta.

    Prices and rewards are Fractions in a literal run that was given them.

    Examples:
        >>> from fluidkv.tokenpd import Pricing
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv.tokenpd.knapsack.compiled import price_rounds
        >>> returns, risk = np.ones((3, 2)), np.zeros((3, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[3, 3], risk=risk)
        >>> run = price_rounds(pool, budget=1, pricing=Pricing(step=0.5))
        >>> run.reward.tolist(), run.optimum.tolist(), run.brought_back.tolist()
        ([2.0, 0.0, 2.0], [1.0, 1.0, 1.0], [0, 0, 2])
    """

    price: Float[np.ndarray, " rounds_and_1"]
    wanted: Bool[np.ndarray, "round token"]
    kept: Bool[np.ndarray, "round token"]
    used: Int[np.ndarray, " round"]
    imbalance: Int[np.ndarray, " rounds_and_1"]
    reward: Float[np.ndarray, " round"]
    optimum: Float[np.ndarray, " round"]
    brought_back: Int[np.ndarray, " round"]


def tokens_that_fit(budget: object, cost: int, rounds: int = 1) -> int:
    """M // c.

    Args:
        rounds: T, over which what is used is summed.

    Raises:
        InputError: a budget that is no whole number, below the memory of one token, or so large
            that T M has more than 63 bits.
    """
    if (whole := count("budget", budget, least=0)) < cost:
        raise InputError("budget", budget, f"an integer of at least {cost}, the cost of one token")
    return within_64_bits("budget", whole, rounds) // cost


def within_64_bits(argument: str, number: int, times: int) -> int:
    """The number, if so many times of it fit in 64 bits, in which S is summed.

    Raises:
        InputError: they do not.
    """
    if number * times > (most := 2**63 - 1):
        raise InputError(argument, number, f"at most {most // times}, for sums within 64 bits")
    return number
