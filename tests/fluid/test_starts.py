"""Starts on the memory boundary, and the one that the theory singles out: along a mode."""

from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given

from fluidkv.errors import InputError
from fluidkv.exact.linear_stability import stability
from fluidkv.fluid import (
    burst_state,
    class_model,
    cohort_model,
    empty_state,
    equilibrium_state,
    mode_starts,
    perturbed_starts,
    simulate,
)
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import systems


def memory(model, state) -> np.ndarray:
    return np.einsum("...ks,ks->...", state, model.weights)


@given(systems())
def test_starts_fill_memory(system):
    model = class_model(system)
    key = jax.random.key(0)
    starts = (
        equilibrium_state(model),
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
        off = np.abs(starts / equilibrium_state(model) - 1).max(axis=(1, 2))
        assert off.min() > 1e-3


def test_steep_modes_do_not_overflow():
    model = cohort_model(System(Workload((RequestClass(5, 900),)), 10**6))
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
