"""Starts on the memory boundary: on it, on the right face, and evenly spread."""

from fractions import Fraction

import jax
import numpy as np
import pytest
from scipy.stats import beta, kstest

from fluidkv.errors import InputError
from fluidkv.fluid import nearby_starts, slice_starts, start_families, uniform_starts
from fluidkv.fluid.model import class_model
from fluidkv.workload import RequestClass, System, Workload

SYSTEM = System(Workload((RequestClass(2, 4),)), Fraction(63))
WEIGHTS = np.array([3, 4, 5, 6])
KEY = jax.random.key(7)
ROUNDING = 63 * 10 * np.finfo(float).eps  # of a few operations on numbers up to M


def on_boundary(states):
    return np.all(states >= 0) and np.all(np.abs(states @ WEIGHTS - 63) <= ROUNDING)


def test_uniform_starts_are_on_the_face_that_was_asked_for():
    starts = uniform_starts(KEY, SYSTEM, count=50, occupied=[3, 1])
    assert on_boundary(starts)
    assert np.all((starts > 0) == [False, True, False, True])


def test_uniform_starts_have_the_marginals_of_a_uniform_simplex():
    # One barycentric coordinate of a uniform point on a simplex with k corners is Beta(1, k - 1).
    starts = uniform_starts(KEY, SYSTEM, count=2000)
    for share in (starts * WEIGHTS / 63).T:
        # With the right law a p-value below 1e-3 has probability 1e-3; the key is fixed.
        assert kstest(share, beta(1, 3).cdf).pvalue > 1e-3


def test_a_key_gives_the_same_starts_again():
    again = uniform_starts(KEY, SYSTEM, count=3)
    assert np.array_equal(again, uniform_starts(KEY, SYSTEM, count=3))
    assert not np.array_equal(again, uniform_starts(jax.random.key(8), SYSTEM, count=3))


def test_nearby_starts_surround_a_state():
    state = np.full(4, 3.5)
    starts = nearby_starts(KEY, SYSTEM, state, count=400, size=0.01)
    assert on_boundary(starts)
    off = starts - state
    # A stage moves by at most size times the larger of its mass and what is missing to M / w_j.
    assert np.all(np.abs(off) <= 0.01 * np.maximum(3.5, 63 / WEIGHTS - 3.5) + ROUNDING)
    assert np.all(off.min(axis=0) < 0)
    assert np.all(off.max(axis=0) > 0)


def test_nearby_starts_keep_to_a_face():
    starts = nearby_starts(KEY, SYSTEM, [0, 0, 9, 3], count=20, size=0.1, occupied=[2, 3])
    assert on_boundary(starts)
    assert np.all(starts[:, :2] == 0)


def test_a_slice_is_a_triangle_of_states():
    corners = np.array([[21, 0, 0, 0], [0, 0, 0, 10.5], [3.5] * 4])
    starts, shares = slice_starts(SYSTEM, corners, points=5)
    assert starts.shape == (15, 4)
    assert on_boundary(starts)
    assert np.allclose(starts, shares @ corners, rtol=0, atol=ROUNDING)
    assert np.allclose(shares.sum(axis=1), 1, rtol=0, atol=4 * np.finfo(float).eps)
    assert len({tuple(s) for s in shares.round(9)}) == 15
    for corner in corners:
        assert np.any(np.all(starts == corner, axis=1))


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: uniform_starts(KEY, SYSTEM, count=0), "count"),
        (lambda: uniform_starts(KEY, SYSTEM, count=1, occupied=[]), "occupied"),
        (lambda: uniform_starts(KEY, SYSTEM, count=1, occupied=[4]), "occupied"),
        (lambda: uniform_starts(KEY, SYSTEM, count=1, occupied=[1, 1]), "occupied"),
        (lambda: nearby_starts(KEY, SYSTEM, [3.5] * 4, count=1, size=0), "size"),
        (lambda: nearby_starts(KEY, SYSTEM, [3.5] * 3, count=1, size=1), "start"),
        (lambda: nearby_starts(KEY, SYSTEM, [3.0] * 4, count=1, size=1), "start"),
        (lambda: slice_starts(SYSTEM, [[3.5] * 4], points=3), "corners"),
        (lambda: slice_starts(SYSTEM, [[3.5] * 4] * 3, points=1), "points"),
    ],
)
def test_bad_input_is_named(call, argument):
    with pytest.raises(InputError) as error:
        call()
    assert error.value.argument == argument


@pytest.mark.parametrize("starts", [uniform_starts, start_families])
def test_what_has_no_lengths_of_its_own_is_one_line(starts):
    for of in (class_model(SYSTEM), "sharegpt", None):
        with pytest.raises(InputError, match=r"system: got .*; allowed: a System or Systems"):
            starts(KEY, of, count=4)
