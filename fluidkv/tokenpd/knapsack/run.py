"""What a run over a pool's rounds left behind, whoever ran it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from fluidkv.errors import InputError
from fluidkv.runs.checks import count


@dataclass(frozen=True)
class PriceRun:
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
    """

    price: Float[np.ndarray, " rounds_and_1"]
    wanted: Bool[np.ndarray, "round token"]
    kept: Bool[np.ndarray, "round token"]
    used: Int[np.ndarray, " round"]
    imbalance: Int[np.ndarray, " rounds_and_1"]
    reward: Float[np.ndarray, " round"]
    optimum: Float[np.ndarray, " round"]
    brought_back: Int[np.ndarray, " round"]


def tokens_that_fit(budget: object, cost: int) -> int:
    """M // c.

    Raises:
        InputError: a budget that is no whole number, or below the memory of one token.
    """
    if (whole := count("budget", budget, least=0)) < cost:
        raise InputError("budget", budget, f"an integer of at least {cost}, the cost of one token")
    return whole // cost
