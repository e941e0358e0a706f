"""Starts on the memory boundary: on it, on the right face, evenly spread; and along a mode."""

from fractions import Fraction
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from scipy.stats import beta, kstest

from fluidkv.errors import InputError
from fluidkv.exact.linear_stability import stability
from fluidkv.fluid import (
    burst_state,
    class_model,
    cohort_model,
    empty_state,
    mode_starts,
    perturbed_starts,
    simulate,
    start_families,
    uniform_starts,
)
from fluidkv.systems import Systems
from fluidkv.workload import RequestClass, System, Workload
from tests.small_systems import one_class
from tests.strategies import systems

SYSTEM = one_class(2, 4, 63)
WEIGHTS = np.array([3, 4, 5, 6])
KEY = jax.random.key(7)
ROUNDING = 63 * 10 * np.finfo(float).eps  # of a few operations on numbers up to M


def memory(model, state) -> np.ndarray:
    return np.einsum("...ks,ks->...", state, model.weights)


@given(systems())
def test_starts_fill_memory(system):
    model = class_model(system)
    key = jax.random.key(0)
    starts = (
        model.equilibrium(),
        burst_state(model),
        *perturbed_starts(key, model, count=3, size=0.5),
        *mode_starts(model, -1.0, count=3, size=0.5),
    )
    for start in starts:
        assert start.min() >= 0
        # 1e-13: a handful of roundings of 1.1e-16 each
        assert memory(model, start) == pytest.approx(float(system.capacity), rel=1e-13)
    assert not empty_state(model).any()


def two_classes(input_length: int, first: int, second: int, capacity: int) -> System:
    half = Fraction(1, 2)
    return System(
        Workload(
            (RequestClass(input_length, first, half), RequestClass(input_length, second, half))
        ),
        capacity,
    )


@pytest.mark.parametrize(
    "system",
    [two_classes(50, 2, 3, 518), two_classes(50, 2, 4, 626), two_classes(9, 3, 7, 4000)],
    ids=["stable pair", "real growing mode", "growing pair"],
)
def test_a_mode_start_moves_by_its_root_each_iteration(system):
    """Y^n = x* (1 + Re(c z^{n-s})): the linearised dynamics are exact while nothing is evicted."""
    found = stability(system)
    root = complex(found.certificate.leading[0].ball.mid())
    model = cohort_model(system)
    starts = mode_starts(model, root, count=5, size=1e-3)
    data = simulate(model, starts, iterations=12, record=("state", "evicted"))
    assert not data.evicted.values.any()
    rate = float(found.equilibrium.rate)
    deviation = np.concatenate([starts[:, None], data.state.values], axis=1)[:, :, 0] / rate - 1
    scale = np.abs(deviation).max()
    trace, norm = 2 * root.real, abs(root) ** 2
    if abs(root.imag) < 1e-12:
        error = deviation[:, 1:] - root.real * deviation[:, :-1]
    else:  # a pair obeys u_{n+2} = 2 Re z u_{n+1} - |z|^2 u_n
        error = deviation[:, 2:] - trace * deviation[:, 1:-1] + norm * deviation[:, :-2]
    # 1e-9 of a deviation of 1e-3: masses of size 1 carry rounding errors of 1e-16 to 1e-14
    assert np.abs(error).max() < 1e-9 * scale


def test_every_phase_of_a_real_mode_is_disturbed():
    system = two_classes(50, 2, 4, 626)
    model = cohort_model(system)
    for count in range(1, 9):
        starts = mode_starts(model, -1.02, count=count, size=0.1)
        off = np.abs(starts / model.equilibrium() - 1).max(axis=(1, 2))
        assert off.min() > 1e-3


def test_steep_modes_do_not_overflow():
    model = cohort_model(one_class(5, 900, 10**6))
    for root in (1e-3, 1e3):
        assert np.isfinite(mode_starts(model, root, count=4, size=0.9)).all()


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"root": 0}, "root"),
        ({"root": complex("nan")}, "root"),
        ({"count": 0}, "count"),
        ({"count": True}, "count"),
        ({"size": 0.0}, "size"),
        ({"size": 1.5}, "size"),
        ({"size": float("nan")}, "size"),
    ],
)
def test_mode_starts_refuses(change, argument):
    model = cohort_model(two_classes(5, 2, 3, 100))
    arguments = {"root": -1.0, "count": 2, "size": 0.1} | change
    root = arguments.pop("root")
    with pytest.raises(InputError, match=argument):
        mode_starts(model, root, **arguments)


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


def test_starts_around_a_state_surround_it():
    state = np.full(4, 3.5)
    starts = uniform_starts(KEY, SYSTEM, count=400, around=state, size=0.01)
    assert on_boundary(starts)
    off = starts - state
    # A stage moves by at most size times the larger of its mass and what is missing to M / w_j.
    assert np.all(np.abs(off) <= 0.01 * np.maximum(3.5, 63 / WEIGHTS - 3.5) + ROUNDING)
    assert np.all(off.min(axis=0) < 0)
    assert np.all(off.max(axis=0) > 0)


def test_starts_around_a_state_keep_to_a_face():
    near: dict[str, Any] = {"around": [0, 0, 9, 3], "size": 0.1}
    starts = uniform_starts(KEY, SYSTEM, count=20, occupied=[2, 3], **near)
    assert on_boundary(starts)
    assert np.all(starts[:, :2] == 0)


def test_a_size_is_any_real_number():
    sizes: list[Any] = [0.5, np.float32(0.5), Fraction(1, 2)]
    starts = [uniform_starts(KEY, SYSTEM, count=2, around=[3.5] * 4, size=h) for h in sizes]
    assert starts[0].dtype == starts[2].dtype == np.float64
    assert np.array_equal(starts[0], starts[1])
    assert np.array_equal(starts[0], starts[2])


def test_a_model_of_many_systems_is_not_taken_for_a_sweep_over_capacities():
    many = class_model(Systems.of([SYSTEM, SYSTEM]))
    for make in (burst_state, empty_state, partial(perturbed_starts, KEY, count=2, size=0.1)):
        with pytest.raises(InputError, match="model: got 'a model of 2 systems'"):
            make(model=many)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: uniform_starts(KEY, SYSTEM, count=0), "count"),
        (lambda: uniform_starts(KEY, SYSTEM, count=1, occupied=[]), "occupied"),
        (lambda: uniform_starts(KEY, SYSTEM, count=1, occupied=[4]), "occupied"),
        (lambda: uniform_starts(KEY, SYSTEM, count=1, occupied=[1, 1]), "occupied"),
        (lambda: uniform_starts(KEY, SYSTEM, count=1, around=[3.5] * 4, size=0), "size"),
        (lambda: uniform_starts(KEY, SYSTEM, count=1, size=0.5), "size"),
        (lambda: uniform_starts(KEY, SYSTEM, count=1, around=[3.5] * 3), "around"),
        (lambda: uniform_starts(KEY, SYSTEM, count=1, around=[3.0] * 4), "around"),
        (lambda: uniform_starts(KEY, SYSTEM, count=1, around=[[3.5] * 4] * 2), "around"),
    ],
)
def test_bad_input_is_named(call, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        call()


@pytest.mark.parametrize("starts", [uniform_starts, start_families])
def test_what_has_no_lengths_of_its_own_is_one_line(starts):
    for of in (class_model(SYSTEM), "sharegpt", None):
        with pytest.raises(InputError, match=r"system: got .*; allowed: a System or Systems"):
            starts(KEY, of, count=4)
