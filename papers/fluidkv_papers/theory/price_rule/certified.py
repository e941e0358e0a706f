"""Exact runs of the price rule: no decision of rule (4) is left to rounding.

Worths, eta and mu_1 are rational (floats are), M, c and so S integers. Rule (4) keeps a token if

    worth / (mu_1 c)  >=  exp(eta S / M).

At S = 0 the right side is 1. Else its exponent is a rational other than 0, so that it is
transcendental (Lindemann) and never equals the left side: a ball of enough bits decides. Or
e^(eta / M) itself is rational, and so is every price.

The rounds are those of `knapsack.literal`, whose prices here are such values.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fluidkv.errors import InputError
from fluidkv.exact.precision import DOUBLE, to_ball, working
from fluidkv.runs.checks import real
from fluidkv.tokenpd.knapsack.literal import literal_rounds
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.knapsack.run import PriceRun
from fluidkv.tokenpd.pricing import Pricing
from fluidkv_papers.theory.price_rule.worths import rationals

FIRST_BITS = 64


@dataclass(frozen=True)
class Exponential:
    """scale * exp(exponent), both rational, the scale at least 0.

    Examples:
        >>> from fluidkv_papers.theory.price_rule import Exponential
        >>> price = Exponential(Fraction(1, 2), Fraction(1, 10))
        >>> price <= Fraction(1, 2), price <= 1, round(float(price), 4)
        (False, True, 0.5526)
    """

    scale: Fraction
    exponent: Fraction

    def __mul__(self, factor: int) -> "Exponential":
        return replace(self, scale=self.scale * factor)

    def __le__(self, other: Fraction | int) -> bool:
        """Whether it is at most a rational, which a worth asks by `worth >= price`."""
        if self.scale == 0 or other <= 0 or self.exponent == 0:
            return self.scale <= other
        bits = FIRST_BITS
        while True:  # ends: other / scale is algebraic, exp(exponent) is not
            with working(bits):
                difference = to_ball(self.exponent) - to_ball(other / self.scale).log()
                if difference > 0:
                    return False
                if difference < 0:
                    return True
            bits *= 2

    def __float__(self) -> float:
        with working(DOUBLE):
            return float((to_ball(self.scale) * to_ball(self.exponent).exp()).mid())


def exact_rounds(
    pool: Pool,
    budget: int,
    pricing: Pricing,
    *,
    base: Fraction | None = None,
    gone: bool = False,
) -> PriceRun:
    """The price rule over a pool, exactly: what is kept, and Fractions of what it brings.

    Args:
        pool: floats in it are taken as the rationals that they are.
        budget: M, units of memory.
        pricing: floats in it likewise.
        base: e^(eta / M), rational, in place of the pricing's step: mu = mu_1 base^S.
        gone: what was evicted cannot come back.

    Returns:
        prices are `Exponential`, or Fractions where a base is given.

    Raises:
        InputError: a budget below one token; a base that is not above 1.

    Examples:
        >>> from fluidkv.tokenpd import Pricing
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv_papers.theory.price_rule import exact_rounds
        >>> returns, risk = np.ones((3, 2)), np.zeros((3, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[3, 3], risk=risk)
        >>> run = exact_rounds(pool, 1, Pricing(step=0.5), base=Fraction(3, 2))
        >>> [str(price) for price in run.price], run.used.tolist()
        (['1', '3/2', '1', '3/2'], [2, 0, 2])
    """
    if base is not None and not real(base) > 1:
        raise InputError("base", base, "a rational above 1")
    start, step = Fraction(pricing.start), Fraction(pricing.step)

    def price_at(imbalance: int) -> Any:
        if base is None:
            return Exponential(start, step * imbalance / budget)
        return start * Fraction(base) ** imbalance

    weights: Any = {
        "risk_aversion": Fraction(pricing.risk_aversion),
        "penalty": Fraction(pricing.penalty),
    }
    rule = replace(pricing, **weights)
    run = literal_rounds(in_rationals(pool), budget, rule, gone=gone, price_at=price_at)
    return replace(run, reward=rationals(run.reward), optimum=rationals(run.optimum))


def in_rationals(pool: Pool) -> Pool:
    """The same pool in Fractions."""
    predicted = None if pool.predicted is None else rationals(pool.predicted)
    changed: dict[str, np.ndarray | None] = {
        "returns": rationals(pool.returns),
        "risk": rationals(pool.risk),
        "predicted": predicted,
    }
    return replace(pool, **changed)
