"""How often requests come: bursts and rates that change."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.runs.rates import RateSteps, burst_rates, contrast_of


@given(st.floats(0.1, 9), st.integers(2, 50), st.data())
def test_bursts_keep_the_mean_and_have_their_contrast(rate: float, period: int, data) -> None:
    window = data.draw(st.integers(1, period - 1))
    contrast = data.draw(st.floats(0.1, 50))
    burst, between = burst_rates(rate, period=period, window=window, contrast=contrast)
    assert burst * window + between * (period - window) == pytest.approx(rate * period)
    assert burst / between == pytest.approx(contrast)


def test_a_factor_on_the_mean_is_a_contrast() -> None:
    """Three times the mean in 2 of 10: half the mean outside, six times less."""
    assert contrast_of(3.0, period=10, window=2) == 6.0
    assert burst_rates(1.0, period=10, window=2, contrast=6.0) == (3.0, 0.5)


def test_all_may_come_in_bursts() -> None:
    """Five times the mean in 2 of 10 leaves nobody for the rest."""
    assert contrast_of(5.0, period=10, window=2) == math.inf
    assert burst_rates(1.0, period=10, window=2, contrast=math.inf) == (5.0, 0.0)


def test_bursts_may_add_to_the_load() -> None:
    assert burst_rates(4.0, period=10, window=2, contrast=3.0, keep_mean=False) == (12.0, 4.0)


@pytest.mark.parametrize("factor", [0.0, 6.0, math.inf, math.nan])
def test_a_factor_that_cannot_keep_the_mean_is_refused(factor: float) -> None:
    with pytest.raises(InputError, match="factor"):
        contrast_of(factor, period=10, window=2)


def test_factors_on_rates_are_rates_of_types() -> None:
    rates = RateSteps((0, 2), (1, 0.5)).times_rates([4.0, 6.0])
    assert rates.most == 10.0
    assert rates.at(np.array([0.0, 1.9, 2.0])).tolist() == [[4, 6], [4, 6], [2, 3]]
