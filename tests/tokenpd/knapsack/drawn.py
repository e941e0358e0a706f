"""Pools and pricings drawn from a seed, on grids so coarse that values tie often."""

from typing import Any, NamedTuple

import numpy as np

from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.knapsack.run import PriceRun
from fluidkv.tokenpd.objective import Objective
from fluidkv.tokenpd.pricing import Budget, Demand, Pricing


class Drawn(NamedTuple):
    """One setting; `option`: gone, or of a heap fresh."""

    pool: Pool
    budget: int
    pricing: Pricing
    option: bool


def drawn(random: np.random.Generator, rounds: int, tokens: int) -> Drawn:
    """Eighths and sixteenths, of which sums and products are exact."""
    pool = drawn_pool_of(random, rounds, tokens)
    pricing = Pricing(
        step=float(random.choice([0.01, 0.1, 0.5, 2.0])),
        start=float(random.choice([0.0, 0.0625, 0.25, 1.0, 3.0])),
        budget=_one(random, Budget),
        demand=_one(random, Demand),
        objective=_one(random, Objective),
        risk_aversion=float(random.choice([0.0, 0.5, 2.0])),
        penalty=float(random.choice([0.0, 0.25])),
    )
    # Whole tokens, and memory that is left over; sometimes more than all of them need.
    budget = pool.cost * int(random.integers(1, tokens + 2)) + int(random.integers(pool.cost))
    return Drawn(pool, budget, pricing, bool(random.integers(2)))


def drawn_pool_of(random: np.random.Generator, rounds: int, tokens: int) -> Pool:
    """Some tokens are there before the first round, some stay beyond the last."""
    shape = rounds, tokens
    arrival = random.integers(-1, rounds, tokens)
    end = arrival + random.integers(1, rounds + 2, tokens)
    predicted = random.integers(0, 9, shape) / 8 if random.integers(2) else None
    return Pool(
        returns=random.integers(0, 9, shape) / 8,
        request=random.integers(0, 3, tokens),
        arrival=arrival,
        end=end,
        risk=random.integers(0, 5, shape) / 16,
        predicted=predicted,
        cost=int(random.integers(1, 4)),
    )


def _one(random: np.random.Generator, kind: Any) -> Any:
    members = list(kind)
    return members[int(random.integers(len(members)))]


def assert_equal_runs(literal: PriceRun, compiled: PriceRun) -> None:
    """Sets, memory and S to the bit; prices but for exp, sums of rewards but for their order.

    NumPy and XLA have an exp of their own, each within an ulp or two of the number; the exponent is
    the same to the bit, since it comes from the integer S by the same two operations.
    """
    for name in ("wanted", "kept", "used", "imbalance", "brought_back"):
        mine, other = getattr(literal, name), getattr(compiled, name)
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape), name
        assert (mine == other).all(), name
    np.testing.assert_allclose(compiled.price, literal.price, rtol=4 * np.finfo(np.float64).eps)
    for name in ("reward", "optimum"):
        np.testing.assert_allclose(getattr(compiled, name), getattr(literal, name), rtol=1e-14)
