"""The JAX twin against the compiled engine, on the CPU."""

from fractions import Fraction
from typing import Any

import jax
import numpy as np
import pytest

from fluidkv.fluid import (
    choice,
    class_model,
    cohort_model,
    equilibrium_state,
    simulate,
    uniform_starts,
)
from fluidkv.fluid.positions import on_device
from fluidkv.fluid.positions.engine import advance
from fluidkv.fluid.positions.on_device import advance_on_device
from fluidkv.fluid.positions.tables import of_systems
from fluidkv.systems import Systems
from fluidkv.workload import RequestClass, System, Workload

MADE = [System(Workload((RequestClass(l0, l1),)), Fraction(900)) for l0, l1 in ((20, 9), (3, 5))]


def test_the_twin_in_jax_agrees_with_the_compiled_engine():
    starts = np.zeros((2, 20, 9))
    for i, system in enumerate(MADE):
        drawn = uniform_starts(jax.random.key(i), system, count=20)
        starts[i, :, : drawn.shape[1]] = drawn
    starts[:, 0] = 0.0  # an empty server
    starts[:, 1] /= 2  # memory to spare
    lanes = starts.reshape(40, 9)
    inputs, stages = np.repeat([20.0, 3.0], 20), np.repeat([9, 5], 20).astype(np.int32)
    capacity = np.full(40, 900.0)
    for iterations in (1, 2, 7, 30, 600):
        found = advance(
            of_systems(MADE, by_class=True),
            np.repeat([0, 1], 20),
            lanes[:, None],
            capacity,
            iterations=iterations,
        )
        twin = advance_on_device(inputs, stages, capacity, lanes, iterations)
        # Roundings of 1e-16 of 300 requests, grown by the modes until the last label is alone.
        np.testing.assert_allclose(twin, found.state[:, 0], rtol=0, atol=1e-9)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many trajectories each call of the twin had, as if on an accelerator."""
    monkeypatch.setattr(choice, "on_cpu", lambda: False)
    monkeypatch.setattr(choice, "_LONG", 2)
    seen = []

    def counted(*values: Any) -> np.ndarray:
        seen.append(len(values[0]))
        return advance_on_device(*values)

    monkeypatch.setattr(on_device, "advance_on_device", counted)
    return seen


@pytest.mark.parametrize("many", [False, True])
def test_an_accelerator_takes_the_twin_where_nothing_is_recorded(
    many: bool, calls: list[int]
) -> None:
    of = Systems.of(MADE) if many else MADE[0]
    filled = np.linspace(0, 1, 20 if many else 40)[:, None, None]
    starts = equilibrium_state(of) * filled
    found = [
        simulate(of, starts, iterations=30, record=(), engine=e) for e in ("auto", "positions")
    ]
    assert calls == [40]
    assert found[0].sizes == found[1].sizes
    masses = [each.final_state.values for each in found]
    np.testing.assert_allclose(*masses, rtol=0, atol=1e-9)
    assert not choice.takes_twin("auto", 9, ("memory",))
    assert not choice.takes_twin("plain", 9, ())
    assert not choice.takes_twin("auto", 1, ())


def test_the_twin_is_not_for_two_classes(calls: list[int]) -> None:
    half = Fraction(1, 2)
    classes = RequestClass(5, 2, half), RequestClass(3, 3, half)
    system = System(Workload(classes), Fraction(60))
    for of in (cohort_model(system), class_model(system)):
        assert choice.by_twin(of, np.zeros((1, *of.weights.shape)), 20, "auto", ()) is None
    alike = class_model(System(Workload((classes[0], classes[0])), Fraction(60)))
    assert choice.by_twin(alike, np.zeros((1, *alike.weights.shape)), 20, "auto", ()) is None
    assert calls == []
