"""Arrivals: means, bursts, keys."""

from fractions import Fraction
from typing import Any

import jax
import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.fluid.open.arrivals import arrival_rates, poisson_arrivals
from fluidkv.runs.rates import contrast_of
from fluidkv.workload import RequestClass, Workload

MIX = Workload((RequestClass(3, 2, Fraction(1, 4)), RequestClass(1, 5, Fraction(3, 4))))


def test_rates_split_by_share():
    assert arrival_rates(MIX, 2.0, iterations=3).tolist() == [[0.5, 1.5]] * 3
    several = arrival_rates(MIX, [2.0, 4.0], iterations=2)
    assert several.tolist() == [[[0.5, 1.5]] * 2, [[1.0, 3.0]] * 2]


def test_poisson_numbers_have_the_mean_and_variance_of_their_rate():
    drawn = poisson_arrivals(jax.random.key(1), arrival_rates(MIX, 4.0, iterations=20_000))
    assert drawn.shape == (20_000, 2)
    assert np.array_equal(drawn, np.round(drawn))
    for k, rate in enumerate((1.0, 3.0)):
        # Five standard errors: sqrt(rate / n) of the mean, about rate sqrt((2 + 1/rate) / n) of
        # the variance.
        assert abs(drawn[:, k].mean() - rate) < 5 * np.sqrt(rate / 20_000)
        assert abs(drawn[:, k].var() - rate) < 5 * rate * np.sqrt((2 + 1 / rate) / 20_000)


def test_the_key_decides_and_runs_differ():
    rates = arrival_rates(MIX, 4.0, iterations=50)
    one = poisson_arrivals(jax.random.key(1), rates, count=2)
    assert np.array_equal(one, poisson_arrivals(jax.random.key(1), rates, count=2))
    assert not np.array_equal(one, poisson_arrivals(jax.random.key(2), rates, count=2))
    assert not np.array_equal(one[0], one[1])
    old_style = jax.random.PRNGKey(1)
    assert np.array_equal(one, poisson_arrivals(old_style, rates, count=2))


def test_bursts_keep_the_mean_or_add_to_it():
    times: dict[str, Any] = {"iterations": 40, "period": 10, "window": 2}
    contrast = contrast_of(3.0, period=10, window=2)
    kept = arrival_rates(MIX, 4.0, **times, contrast=contrast)
    assert kept[:10, 1].tolist() == [9.0] * 2 + [1.5] * 8
    assert np.allclose(kept.mean(axis=0), [1, 3], rtol=1e-15)
    added = arrival_rates(MIX, 4.0, **times, contrast=3.0, keep_mean=False)
    assert added[10:20, 0].tolist() == [3.0] * 2 + [1.0] * 8


def test_a_contrast_of_one_is_no_burst():
    steady = arrival_rates(MIX, 4.0, iterations=9)
    for keep in (True, False):
        shape = arrival_rates(MIX, 4.0, iterations=9, period=4, window=3, keep_mean=keep)
        assert np.array_equal(shape, steady)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: arrival_rates(MIX, 0.0, iterations=3), "total"),
        (lambda: arrival_rates(MIX, np.nan, iterations=3), "total"),
        (lambda: arrival_rates(MIX, [], iterations=3), "total"),
        (lambda: arrival_rates(MIX, "fast", iterations=3), "total"),
        (lambda: arrival_rates(MIX, 1.0, iterations=0), "iterations"),
        (lambda: poisson_arrivals(jax.random.key(0), np.array([[np.inf]])), "rates"),
        (lambda: poisson_arrivals(jax.random.key(0), np.array([[-1.0]])), "rates"),
        (lambda: poisson_arrivals(jax.random.key(0), np.ones((2, 3, 1)), count=2), "count"),
        (lambda: poisson_arrivals(jax.random.key(0), np.ones((3, 1)), count=0), "count"),
    ],
)
def test_bad_rates_are_named(call, named):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == named


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"window": 10}, "window"),
        ({"window": 0}, "window"),
        ({"period": 1.5}, "period"),
        ({"contrast": 0.0}, "contrast"),
        ({"contrast": np.inf, "keep_mean": False}, "contrast"),
    ],
)
def test_bad_bursts_are_named(changed, named):
    times: dict[str, Any] = {"iterations": 40, "period": 10, "window": 2, "contrast": 3.0}
    with pytest.raises(InputError) as caught:
        arrival_rates(MIX, 1.0, **(times | changed))
    assert caught.value.argument == named
