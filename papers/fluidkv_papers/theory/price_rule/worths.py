"""What keeping each token brings, and what the rule believes that it brings.

Numbers stay what they are: arrays of floats give floats; arrays of objects, such as Fractions, give
Fractions, so that what is compared on small cases is exact.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Bool

from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.knapsack.run import tokens_that_fit
from fluidkv.tokenpd.objective import worth_of
from fluidkv.tokenpd.pricing import Pricing


@dataclass(frozen=True)
class Worths:
    """Worths of tokens in rounds.

    Fields:
        true: what keeping brings; shape (round, token), floats or Fractions.
        seen: the same as the rule sees it when it chooses.
        present: which tokens may be kept.
        slots: how many tokens fit, floor(M / c).
    """

    true: np.ndarray
    seen: np.ndarray
    present: Bool[np.ndarray, "round token"]
    slots: int


def worths(pool: Pool, budget: int, pricing: Pricing | None = None) -> Worths:
    """Of a pool, under the objective, risk aversion and penalty of a pricing.

    Args:
        budget: M, units of memory.
        pricing: where None, worths are the returns, as under rule (4) with lambda = 0.

    Raises:
        InputError: a budget below one token.
    """
    slots = tokens_that_fit(budget, pool.cost)
    rule = pricing or Pricing(1)
    true, seen, risk = pool.returns, pool.seen, pool.risk
    weights: dict[str, Any] = {"risk_aversion": rule.risk_aversion, "penalty": rule.penalty}
    if true.dtype == object:  # a float is a rational, too, and stays the one that it is
        true, seen, risk = rationals(true), rationals(seen), rationals(risk)
        weights = {name: Fraction(value) for name, value in weights.items()}
    true, seen = (worth_of(rule.objective, each, risk, **weights) for each in (true, seen))
    return Worths(true, seen, pool.present, slots)


def zero_of(numbers: np.ndarray) -> Any:
    """The 0 of their kind."""
    return Fraction(0) if numbers.dtype == object else 0.0


def rationals(numbers: np.ndarray) -> np.ndarray:
    """As Fractions; floats as the ones that they are."""
    out = np.empty(numbers.size, object)
    out[:] = [Fraction(number) for number in numbers.ravel().tolist()]
    return out.reshape(numbers.shape)
