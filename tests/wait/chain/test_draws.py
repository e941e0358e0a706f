"""Tables and samplers of a chain's random numbers against the laws that they hold."""

from fractions import Fraction
from functools import partial
from math import comb
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from fluidkv.runs.words import run_keys, words
from fluidkv.wait.chain import draws


def uniform(sample: np.ndarray) -> bool:
    """Fails for a right sampler once in 1e6 seeds."""
    test: Any = stats.kstest(sample, "uniform")
    return test.pvalue > 1e-6


def _law(table: np.ndarray) -> list[int]:
    """Units of each outcome of a table, counted."""
    units = [0] * len(table)
    for column, cell in enumerate(table.tolist()):
        threshold, alias = cell >> 16, cell & 0xFFFF
        units[column] += threshold
        units[alias] += 2**48 - threshold
    return units


@pytest.mark.parametrize(("n", "p"), [(1, Fraction(1, 3)), (60, Fraction(3, 7)), (9, Fraction(1))])
def test_binomial_tables_hold_the_law(n: int, p: Fraction) -> None:
    columns = draws.columns_for(n + 1)
    whole = 2**48 * columns
    table = draws.cells(draws.binomial_units(n, p, whole.bit_length() - 1), columns)
    for k, units in enumerate(_law(table)):
        mass = comb(n, k) * p**k * (1 - p) ** (n - k) if k <= n else 0
        # Rounded down by less than a unit; the likeliest outcome took up all that was lost.
        assert -1 < units - mass * whole < n + 1


def test_tables_of_a_large_mean_have_its_mean_and_variance() -> None:
    mean, bits = 5_000_000, 64
    first, _ = draws.poisson_window(mean)
    units = draws.poisson_units(mean, bits)
    assert sum(units) == 2**bits
    off = [first + i - mean for i in range(len(units))]
    # Each of 45,000 outcomes, 22,500 away at most, is a unit of 2^-64 off at most: by 6e-11 and,
    # squared, 2e-6.
    assert abs(sum(u * d for u, d in zip(units, off, strict=True)) / 2**bits) < 1e-10
    spread = sum(u * d * d for u, d in zip(units, off, strict=True)) / 2**bits
    assert abs(spread - mean) < 1e-5


def test_binomial_tables_of_the_largest_threshold_take_no_time() -> None:
    n, p = 65_534, Fraction(59, 60)
    units = draws.binomial_units(n, p, 64)  # over a minute in exact integers
    assert sum(units) == 2**64
    mean = Fraction(sum(k * u for k, u in enumerate(units)), 2**64)
    assert abs(mean - n * p) < 1e-9  # 65,535 outcomes, as far away, a unit each: 2.4e-10


@pytest.mark.parametrize("mean", [0.3, 7.5, 640.0])
def test_poisson_tables_hold_the_law(mean: float) -> None:
    first, size = draws.poisson_window(mean)
    columns = draws.columns_for(size)
    whole = 2**48 * columns
    table = draws.cells(draws.poisson_units(mean, whole.bit_length() - 1), columns)
    found = np.array(_law(table)[:size], float) / whole
    mass = stats.poisson.pmf(np.arange(first, first + size), mean)
    assert stats.poisson.cdf(first - 1, mean) + stats.poisson.sf(first + size - 1, mean) < 2**-64
    seldom = mass < 1e-6
    # SciPy's pmf is good to about 1e-12; a unit is below 1e-16, so 1e-3 of a mass of 1e-13.
    np.testing.assert_allclose(found[mass > 1e-12], mass[mass > 1e-12], rtol=1e-4)
    assert (seldom & (mass > 1e-12)).any()


def test_poisson_counts_are_quantiles() -> None:
    mean = np.repeat([0.0, 0.4, 8.0, 300.0, 12345.6], 7)
    u = np.tile([1e-9, 1e-7, 0.02, 0.5, 0.97, 1 - 1e-7, 1 - 1e-9], 5)
    with jax.enable_x64(True):
        found = np.asarray(jax.jit(draws.poisson)(jnp.asarray(mean), jnp.asarray(u)))
    assert found.tolist() == stats.poisson.ppf(u, mean).astype(int).tolist()


def test_gamma_variates_have_the_law() -> None:
    shapes = np.repeat([0.0, 1.0, 2.0, 37.0], 8_000)
    with jax.enable_x64(True):
        keys = run_keys(5, np.arange(shapes.size))
        drawn = jax.jit(lambda of: draws.gamma(of, partial(words, keys, jnp.int32(3)), 7))(
            jnp.asarray(shapes)
        )
    drawn = np.asarray(drawn)
    assert not drawn[shapes == 0].any()
    for shape in (1, 2, 37):
        # Fails for a right sampler once in 1e6 seeds; the seed is fixed.
        assert uniform(stats.gamma.cdf(drawn[shapes == shape], shape))
