"""The oracle's returns: as a literal loop in exact arithmetic has them, and the same row by row."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.precision import in_float64
from fluidkv.tokenpd import generated, generators
from fluidkv.tokenpd.attention.oracle import (
    UNIT,
    after_row,
    future_returns,
    mean_and_variance,
    remaining,
)
from fluidkv.tokenpd.attention.weights import Attention

MIXED = generated(generators()["mixed"], 3, requests=3, prompt=4, length=(8, 14), gap=2)


def _before(attention):
    return remaining(jnp.asarray(attention.weights), jnp.asarray(attention.length))


def _literal(attention, stream, row, key):
    """Mean and variance over the rows that follow, in rationals."""
    last = attention.length[stream]
    later = [Fraction(float(attention.weights[stream, r, key])) for r in range(row + 1, last)]
    if not later or key > row:
        return Fraction(0), Fraction(0)
    mean = sum(later, Fraction()) / len(later)
    return mean, sum((w * w for w in later), Fraction()) / len(later) - mean**2


def test_the_oracle_is_the_mean_and_variance_of_the_rows_to_come():
    returns = future_returns(MIXED)
    for stream, row, key in np.ndindex(MIXED.weights.shape):
        if row >= MIXED.length[stream]:
            continue
        mean, variance = _literal(MIXED, stream, row, key)
        assert abs(returns.mean[stream, row, key] - mean) <= UNIT / 2 + 1e-16
        assert abs(returns.variance[stream, row, key] - variance) <= 3 * UNIT / 2 + 1e-16


def test_nothing_is_to_come_after_the_last_row():
    returns = future_returns(MIXED)
    for stream, length in enumerate(MIXED.length):
        for array in returns:
            assert not array[stream, length - 1 :].any()


def test_row_by_row_the_sums_are_the_same_to_the_last_bit():
    whole = future_returns(MIXED)
    rows = MIXED.weights.shape[1]
    inside = (np.arange(rows) < MIXED.length[:, None])[:, :, None]
    with in_float64():
        left = _before(MIXED)
        step = jax.jit(after_row)
        for row in range(rows):
            runs = jnp.asarray(row < MIXED.length)
            # What an array holds beyond a stream's end must not be read.
            given = np.where(np.asarray(runs)[:, None], MIXED.weights[:, row], np.nan)
            left = step(left, jnp.asarray(given), runs)
            there = jnp.broadcast_to(jnp.arange(rows) <= row, given.shape)
            mean, variance = (jnp.where(there, each, 0) for each in mean_and_variance(left))
            later = np.where(inside, MIXED.weights.astype(float), 0)[:, row + 1 :]
            assert np.array_equal(left.weight, (np.round(later / UNIT) * UNIT).sum(1))
            assert np.array_equal(left.square, (np.round(later**2 / UNIT) * UNIT).sum(1))
            # A compiler divides by multiplying, and may square and subtract in one rounding.
            assert np.allclose(mean, whole.mean[:, row], rtol=4e-16, atol=0)
            assert np.allclose(variance, whole.variance[:, row], rtol=0, atol=4e-16)
        assert not np.asarray(left.weight).any()
        assert not np.asarray(left.square).any()
        assert not np.asarray(left.rows).any()


def test_small_returns_survive_large_ones_before_them():
    """A key that had nearly all of 900 rows and then 1e-6: subtracting leaves just that."""
    length = 1000
    weights = np.zeros((1, length, length), np.float32)
    weights[0, :, 0] = 1
    weights[0, 900:, 0], weights[0, 900:, 1] = 1e-6, 1 - 1e-6
    one = np.array([1])
    attention = Attention(weights, one, one * length, one * 0, one * 0)
    with in_float64():
        rows, runs = jnp.asarray(weights[0, :950, None]), jnp.array([True])
        left, _ = jax.lax.scan(
            lambda s, row: (after_row(s, row, runs), None), _before(attention), rows
        )
        mean, _ = mean_and_variance(left)
    assert abs(float(mean[0, 0]) - 1e-6) < UNIT


def test_a_run_of_too_many_rows_is_refused():
    weights = np.zeros((0, 8193, 8193), np.float32)
    none = np.zeros(0, np.int64)
    with pytest.raises(InputError, match="weights: got '8193 rows'"):
        future_returns(Attention(weights, none, none, none, none))
