"""The best fixed price of a run too long to store, between two numbers, from a few prices.

Let R(p) be what the fixed price p earns and U(p) what it uses, over T rounds. For every p >= 0 and
every choice of tokens that uses T M or less in all, its worth is at most

    D(p) = R(p) + p (T M - U(p)),

as in weak duality. So the least D of the prices that were run is an upper bound, of the best fixed
price and of `purse_optimum`. D is convex, with T M - U(p) as a slope at p, so it lies above its
tangents: their envelope between neighbouring prices is a lower bound of min D. And min D is reached
by a price (the T M / c-th largest value) if no two tokens tie there and c divides T M. Prices
that are h apart leave about n T h^2 / 8 between the bounds: little, if h is of the order of
1 / sqrt(T).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from fluidkv.errors import InputError
from fluidkv.tokenpd.knapsack.sequences.sums import PriceSums


class Between(NamedTuple):
    """Bounds on what the best fixed price earns, of each seed.

    Fields:
        low: without ties; -inf where no price that was run uses more, or none less, than T M.
        high: also of all that the purse can hold.
    """

    low: Float[np.ndarray, " seed"]
    high: Float[np.ndarray, " seed"]


def fixed_price_between(sums: PriceSums, budget: int) -> Between:
    """Bounds from the fixed prices that were run beside, netted.

    Args:
        sums: with prices in ascending order.
        budget: M, as in the run.

    Raises:
        InputError: no prices, or not in ascending order.
    """
    prices = sums.prices[:, None]
    if not len(prices) or (np.diff(sums.prices) <= 0).any():
        raise InputError("prices", sums.prices, "one or more, in ascending order")
    slope = (sums.rounds * budget - sums.fixed_used).astype(np.float64)
    dual = sums.fixed_netted + prices * slope
    low = np.full(dual.shape[1], -np.inf)
    for at in range(len(prices) - 1):
        left, right = slope[at], slope[at + 1]
        turns = (left <= 0) & (right >= 0)
        steep = np.where(right > left, right - left, 1.0)
        # Where the tangents at both prices meet; at the left one where they are the same.
        cross = (dual[at] - dual[at + 1] + right * prices[at + 1] - left * prices[at]) / steep
        cross = np.where(right > left, cross, prices[at])
        low = np.where(turns, dual[at] + left * (cross - prices[at]), low)
    # All is affordable at price 0: then the best price is 0.
    free = (prices[0] == 0) & (slope[0] >= 0)
    return Between(np.where(free, dual[0], low), dual.min(axis=0))
