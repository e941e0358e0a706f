"""Arrivals: means, keys."""

from fractions import Fraction

import jax
import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.fluid.open.arrivals import class_rates, poisson_arrivals
from fluidkv.workload import RequestClass, Workload

MIX = Workload((RequestClass(3, 2, Fraction(1, 4)), RequestClass(1, 5, Fraction(3, 4))))


def test_rates_split_by_share():
    assert class_rates(MIX, 2.0).tolist() == [0.5, 1.5]
    assert class_rates(MIX, [[2.0, 4.0]] * 3).tolist() == [[[0.5, 1.5], [1.0, 3.0]]] * 3


def test_poisson_numbers_have_the_mean_and_variance_of_their_rate():
    drawn = poisson_arrivals(jax.random.key(1), class_rates(MIX, np.full(20_000, 4.0)))
    assert drawn.shape == (20_000, 2)
    assert np.array_equal(drawn, np.round(drawn))
    for k, rate in enumerate((1.0, 3.0)):
        # Five standard errors: sqrt(rate / n) of the mean, about rate sqrt((2 + 1/rate) / n) of
        # the variance.
        assert abs(drawn[:, k].mean() - rate) < 5 * np.sqrt(rate / 20_000)
        assert abs(drawn[:, k].var() - rate) < 5 * rate * np.sqrt((2 + 1 / rate) / 20_000)


def test_the_key_decides_and_runs_differ():
    rates = class_rates(MIX, np.full(50, 4.0))
    one = poisson_arrivals(jax.random.key(1), rates, count=2)
    assert np.array_equal(one, poisson_arrivals(jax.random.key(1), rates, count=2))
    assert not np.array_equal(one, poisson_arrivals(jax.random.key(2), rates, count=2))
    assert not np.array_equal(one[0], one[1])
    old_style = jax.random.PRNGKey(1)
    assert np.array_equal(one, poisson_arrivals(old_style, rates, count=2))


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: class_rates(MIX, -1.0), "total"),
        (lambda: class_rates(MIX, np.nan), "total"),
        (lambda: class_rates(MIX, []), "total"),
        (lambda: class_rates(MIX, "fast"), "total"),
        (lambda: poisson_arrivals(jax.random.key(0), 2.0), "rates"),
        (lambda: poisson_arrivals(jax.random.key(0), np.array([[np.inf]])), "rates"),
        (lambda: poisson_arrivals(jax.random.key(0), np.array([[-1.0]])), "rates"),
        (lambda: poisson_arrivals(jax.random.key(0), np.array([[1e30]])), "rates"),
        (lambda: poisson_arrivals(jax.random.key(0), np.ones((2, 3, 1)), count=2), "count"),
        (lambda: poisson_arrivals(jax.random.key(0), np.ones((3, 1)), count=0), "count"),
    ],
)
def test_bad_rates_are_named(call, named):
    with pytest.raises(InputError, match=f"^{named}: "):
        call()
