"""Small pools for tests, drawn: few rounds and tokens, worths with few denominators."""

from fractions import Fraction
from random import Random

import numpy as np

from fluidkv.tokenpd.knapsack.pool import Pool


def drawn_pool(rng: Random, *, rounds: int = 4, tokens: int = 4, noisy: bool = False) -> Pool:
    """Exact; tokens come and go; predictions of their own where noisy."""

    def numbers(most: int) -> np.ndarray:
        drawn = [[Fraction(rng.randint(0, 6), most) for _ in range(tokens)] for _ in range(rounds)]
        return np.array(drawn, object)

    arrival = np.array([rng.randrange(rounds) for _ in range(tokens)])
    end = np.array([rng.randint(begin + 1, rounds) for begin in arrival])
    request = np.array([rng.randrange(2) for _ in range(tokens)])
    predicted = numbers(6) if noisy else None
    return Pool(numbers(6), request, arrival, end, numbers(12), predicted, rng.choice((1, 2)))


def in_floats(pool: Pool) -> Pool:
    """The same in doubles."""
    predicted = None if pool.predicted is None else pool.predicted.astype(float)
    return Pool(
        pool.returns.astype(float),
        pool.request,
        pool.arrival,
        pool.end,
        pool.risk.astype(float),
        predicted,
        pool.cost,
    )
