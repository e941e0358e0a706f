"""Exact runs decide as the literal one does, and where doubles cannot."""

from fractions import Fraction
from math import exp
from random import Random
from typing import Any

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.tokenpd.knapsack.literal import literal_rounds
from fluidkv.tokenpd.pricing import Budget, Demand, Pricing
from fluidkv_papers.theory.price_rule.cases import pool_of
from fluidkv_papers.theory.price_rule.certified import Exponential, exact_rounds
from tests.papers.theory.price_rule.pools import drawn_pool, in_floats

READINGS = [(reading, demand) for reading in Budget for demand in Demand]


@pytest.mark.parametrize(("reading", "demand"), READINGS)
@pytest.mark.parametrize("seed", range(25))
def test_exact_runs_are_the_literal_runs_of_drawn_pools(seed, reading, demand) -> None:
    rng = Random(seed)
    pool = in_floats(drawn_pool(rng, rounds=12, tokens=6, noisy=bool(seed % 2)))
    # No worth of these, an eighth of two in floats, is so near a price that doubles err.
    pricing = Pricing(rng.random() + 0.01, rng.random(), reading, demand, risk_aversion=0.5)
    budget = rng.randint(pool.cost, 4 * pool.cost)
    gone = rng.random() < 0.5
    exact = exact_rounds(pool, budget, pricing, gone=gone)
    literal = literal_rounds(pool, budget, pricing, gone=gone)
    for name in ("wanted", "kept", "imbalance", "used"):
        assert (getattr(exact, name) == getattr(literal, name)).all(), name
    assert exact.reward.astype(float) == pytest.approx(literal.reward, abs=1e-14)
    assert [float(price) for price in exact.price] == pytest.approx(literal.price, rel=1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_a_rational_base_is_the_exponential_whose_step_is_its_log(seed: int) -> None:
    rng = Random(seed)
    pool = drawn_pool(rng, rounds=10, tokens=5)
    budget = 2 * pool.cost
    base = Fraction(rng.randint(11, 19), 10)
    # The step is a double beside log(base) M; S = 0 is exact in both, and no other worth is near.
    step = float(np.log(float(base))) * budget
    pricing = Pricing(step, rng.choice((0.25, 0.3, 1.0)))
    rational = exact_rounds(pool, budget, pricing, base=base)
    exponential = exact_rounds(pool, budget, pricing)
    assert (rational.kept == exponential.kept).all()
    assert rational.price[0] == Fraction(pricing.start)
    assert all(isinstance(price, Fraction) for price in rational.price)


def test_balls_decide_what_doubles_cannot() -> None:
    price = Exponential(Fraction(1), Fraction(1, 10))
    double = Fraction(exp(0.1))  # e^(1/10), rounded
    for shift in (Fraction(1, 10**20), Fraction(1, 10**40)):
        # e^(1/10) = 1.10517091807564762481170782649024666822454719473752 (a series of rationals)
        true = sum((Fraction(1, 10) ** k / _factorial(k) for k in range(40)), Fraction(0))
        assert price <= true + shift
        assert not price <= true - shift
    assert (price <= double) == (true < double)


def _factorial(k: int) -> int:
    return 1 if k == 0 else k * _factorial(k - 1)


def test_at_no_imbalance_a_tie_stays_exactly() -> None:
    third = Fraction(1, 3)
    below = third - Fraction(1, 10**30)
    start: Any = third
    run = exact_rounds(pool_of([(third, below)]), 1, Pricing(0.5, start))
    assert run.kept.tolist() == [[True, False]]


def test_a_price_of_0_keeps_what_is_worth_0() -> None:
    run = exact_rounds(pool_of([(Fraction(0), Fraction(1))] * 3), 1, Pricing(0.5, 0.0))
    assert run.kept.all()


@pytest.mark.parametrize("base", [Fraction(1), Fraction(1, 2)])
def test_a_base_is_above_1(base: Fraction) -> None:
    with pytest.raises(InputError, match="base"):
        exact_rounds(pool_of([(Fraction(1),)]), 1, Pricing(0.5), base=base)
