"""Fits find powers that are known, cover them as often as said, and refuse where there is none."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.tokenpd.knapsack.sequences.random import Stochastic
from fluidkv.tokenpd.knapsack.sequences.stored import drawn_pool
from fluidkv.tokenpd.knapsack.sequences.sums import PriceSums, price_sums
from fluidkv.tokenpd.pricing import Pricing
from fluidkv_papers.theory.price_rule.comparators import best_fixed_price, purse_optimum
from fluidkv_papers.theory.price_rule.exponents import fit_exponent
from fluidkv_papers.theory.price_rule.hindsight import fixed_price_between

HORIZONS = (100, 1000, 10_000)


def _noisy(power: float, seed: int, sign: int = 1, seeds: int = 40) -> dict[int, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {T: sign * 3 * T**power * (1 + 0.5 * rng.standard_normal(seeds)) for T in HORIZONS}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("power", [0.5, 1.0])
def test_an_exact_power_is_found_with_an_interval_of_no_width(power: float, sign: int) -> None:
    found = fit_exponent({T: np.full(5, sign * 3 * T**power) for T in HORIZONS})
    assert found.sign == sign
    assert (found.low, found.high) == pytest.approx((found.power, found.power), abs=1e-12)
    assert found.power == pytest.approx(power, abs=1e-12)
    assert found.factor == pytest.approx(3, rel=1e-12)
    assert found.steps == pytest.approx((power, power), abs=1e-12)


def test_intervals_cover_the_power_as_often_as_they_say() -> None:
    fits = [fit_exponent(_noisy(0.5, seed), resamples=400) for seed in range(200)]
    covered = sum(fit.low <= 0.5 <= fit.high for fit in fits)
    # 95 % of 200 is 190, with a standard deviation of 3; a bootstrap of 40 seeds is a little short
    assert 176 <= covered <= 199


def test_a_gain_is_fitted_as_one() -> None:
    found = fit_exponent(_noisy(1.0, 1, sign=-1))
    assert found.sign == -1
    assert found.low < 1 < found.high


def test_what_changes_its_sign_or_may_be_0_has_no_power() -> None:
    for samples in (
        {100: np.array([1.0]), 1000: np.array([-1.0])},
        {100: np.array([1.0, -0.9]), 1000: np.array([1.0, 1.0])},
        {100: np.array([0.0]), 1000: np.array([0.0])},
    ):
        found = fit_exponent(samples)
        assert found.sign == 0
        assert np.isnan(found.power)
        assert found.means == tuple(float(column.mean()) for column in samples.values())


def test_bad_samples_are_one_line() -> None:
    for samples in ({100: np.ones(3)}, {100: np.ones(3), 1000: np.ones(0)}):
        with pytest.raises(InputError, match="samples"):
            fit_exponent(samples)


ROUNDS, SEEDS = 400, 3


def _sums(budget: int, prices: np.ndarray) -> PriceSums:
    """All of one shape, so that one compilation does."""
    assert prices.shape == (13,)
    rule = Pricing(0.05)
    return price_sums(Stochastic(tokens=4), budget, rule, ROUNDS, seeds=SEEDS, prices=prices)


@pytest.mark.parametrize("spread", [0.005, 0.03])
def test_a_few_prices_enclose_the_best_of_all(spread: float) -> None:
    between = fixed_price_between(_sums(2, 0.5 + spread * np.arange(-6, 7)), 2)
    for at in range(SEEDS):
        pool = drawn_pool(Stochastic(tokens=4), ROUNDS, number=at)
        best = best_fixed_price(pool, 2).reward
        # Sums of 800 doubles below 1, in another order.
        assert best == pytest.approx(purse_optimum(pool, 2), abs=1e-10)
        assert between.low[at] - 1e-10 <= best <= between.high[at] + 1e-10
        assert between.high[at] - between.low[at] <= 4 * ROUNDS * spread**2


def test_where_all_fits_the_best_price_is_0() -> None:
    sums = _sums(4, np.linspace(0, 0.9, 13))
    between = fixed_price_between(sums, 4)
    assert (between.low == between.high).all()
    assert between.low == pytest.approx(sums.optimum, rel=1e-12)


def test_prices_are_asked_for_in_order() -> None:
    with pytest.raises(InputError, match="prices"):
        fixed_price_between(_sums(2, np.linspace(0.9, 0, 13)), 2)


def test_prices_that_all_use_too_much_bound_from_above_alone() -> None:
    """Ten rounds of one unit; the dearest price that was run still uses 25: D is 18 - 0.2 x 15."""
    sums: Any = SimpleNamespace(
        prices=np.array([0.1, 0.2]),
        rounds=10,
        fixed_used=np.array([[30], [25]]),
        fixed_netted=np.array([[20.0], [18.0]]),
    )
    low, high = fixed_price_between(sums, 1)
    assert low.tolist() == [-np.inf]
    assert high.tolist() == [15]
