"""Derivatives of the map against the certified roots, and against trajectories."""

import jax
import numpy as np
import pytest
from flint import ctx
from hypothesis import event, example, given
from hypothesis import strategies as st

from fluidkv.exact.roots.polynomial import characteristic_polynomial, enclosed_roots
from fluidkv.exact.survival import survival_weights
from fluidkv.fluid import MassModel, cohort_model, linearise, rollout, spectral_radius
from fluidkv.workload import System, Workload
from tests.fluid.padded import padded
from tests.strategies import systems, workloads

APART = 0.05
"""Roots this far apart are told by their eigenvalues to 1e-8: a root of an m-fold cluster moves by
the m-th root of a rounding."""


pytestmark = pytest.mark.usefixtures("in_64_bits")


def certified(system):
    """Roots of F with their multiplicities, midpoints of balls of radius below 1e-12."""
    before, ctx.prec = ctx.prec, 128
    try:
        balls = enclosed_roots(characteristic_polynomial(survival_weights(system.workload)))
        return np.array([complex(ball) for ball, times in balls for _ in range(times)])
    finally:
        ctx.prec = before


def of(lengths, inputs=None, capacity=10**5):
    pairs = lengths if inputs is None else [(inputs, length) for length in lengths]
    return System(Workload.from_lengths(pairs), capacity)


@jax.jit
def at_equilibrium(model):
    return linearise(model, model.equilibrium()[0])


radius_of = jax.jit(spectral_radius)
many = systems(workloads=workloads(max_classes=4, decode_lengths=st.integers(1, 12)))


@given(many)
@example(of((2, 4), 5))
@example(of((4, 7), 23))  # the boundary of stability lies between these two
@example(of((4, 7), 24))
@example(of([(100, 12), (30, 20)]))
def test_the_jacobian_at_the_equilibrium_has_the_certified_roots(system):
    """Congestion, equation (9): Phi is the derivative, F its characteristic polynomial."""
    model = padded(cohort_model(system), classes=1)
    linear = at_equilibrium(model)
    roots, found = certified(system), np.asarray(linear.multipliers)
    # The oldest cohort leaves: one multiplier is 0, and so is that of each stage that is padded.
    assert np.all(found[roots.size :] == 0)
    found = found[: roots.size + 1]
    # Each eigenvalue is a root of F to rounding, clustered or not: backward stability.
    weights = model.weights[0, : roots.size + 1]
    powers = np.abs(found[:-1, None]) ** np.arange(roots.size, -1, -1) @ weights
    values = np.polyval(weights, found[:-1])
    assert np.all(np.abs(values) <= 1e-10 * powers)
    gaps = np.abs(roots[:, None] - roots[None]) + 10 * np.eye(roots.size)
    apart = roots.size < 2 or gaps.min() > APART
    event(f"roots are apart: {apart}")
    if apart:
        nearest = np.abs(found[:, None] - np.append(roots, 0.0)[None])
        assert nearest.min(axis=0).max() <= 1e-8
        assert nearest.min(axis=1).max() <= 1e-8
    assert linear.fronts.tolist() == [-1]


@given(many)
def test_the_spectral_radius_is_that_of_the_roots(system):
    modulus = np.abs(certified(system)).max(initial=0.0)
    radius = radius_of(padded(cohort_model(system), classes=1))
    assert abs(float(radius) - modulus) <= 1e-3 * max(modulus, 1e-3)  # clusters: see APART


def test_multipliers_of_the_worst_cycle_say_that_it_attracts():
    """Theorem 2: on the maximal-eviction cycle one position lives; others die out at once."""
    system = of([(2, 3)], capacity=24)
    model = cohort_model(system)
    on_cycle = jax.jit(lambda start: rollout(model, start, 30).state)(np.array([4.0, 3.0, 0.0]))
    linear = jax.jit(lambda state: linearise(model, state, period=3))(on_cycle)
    assert np.abs(linear.multipliers).max() < 1
    assert (np.asarray(linear.fronts) >= 0).sum() == 2  # two iterations of the three evict


def test_a_small_deviation_grows_as_the_jacobian_says():
    system = of((2, 4), 5)
    model = cohort_model(system)
    centre = np.asarray(model.equilibrium()[0])
    along = np.asarray(jax.jit(lambda state: linearise(model, state, period=6))(centre).jacobian)
    push = 1e-7 * np.array([1.0, -2.0, 0.5, 1.0])
    after = jax.jit(lambda state: rollout(model, state, 6).state)
    moved = np.asarray(after(centre + push)) - centre
    # Of second order: the map is linear where no front comes in, up to rounding.
    np.testing.assert_allclose(moved, along @ push, atol=1e-12 * centre.max())


def test_the_slope_of_the_radius_is_a_difference():
    def largest(inputs):
        lengths = [inputs, inputs], [4, 7]
        return spectral_radius(MassModel.from_lengths(*lengths, [0.5, 0.5], 1e4, stages=7))

    slope = jax.jit(jax.grad(largest))(23.5)
    radius = jax.jit(largest)
    assert slope < 0
    difference = (radius(23.5 + 1e-5) - radius(23.5 - 1e-5)) / 2e-5
    assert float(slope) == pytest.approx(float(difference), rel=1e-5)
