"""What makes starts and what takes them fit, one system and many, whatever the shape."""

from collections.abc import Callable
from fractions import Fraction

import jax
import numpy as np
import pytest
import xarray as xr

import fluidkv as fk
from fluidkv.fluid import burst_state, mode_starts
from fluidkv.systems import Systems
from fluidkv.workload import RequestClass, System, Workload
from tests.small_systems import one_class

KEY = jax.random.key(2)
HALF = Fraction(1, 2)
MIXED = System(Workload((RequestClass(2, 3, HALF), RequestClass(2, 5, HALF))), Fraction(60))
ALIKE = one_class(3, 4, 90)
MANY = {
    "mixed": Systems.vary(MIXED, capacity=[60, 80]),
    "alike": Systems.of([ALIKE, one_class(3, 6, 90)]),
}

STARTS: dict[str, Callable] = {
    "uniform": lambda of: fk.uniform_starts(KEY, of, count=3),  # two would be one state
    "perturbed": lambda of: fk.perturbed_starts(KEY, of, count=2, size=0.3),
    "modes": lambda of: mode_starts(of, -1.0, count=2, size=0.3),
    "burst": burst_state,
    "equilibrium": lambda of: fk.class_model(of).equilibrium()[..., None, :, :],
}
CONSUMERS: dict[str, Callable[..., xr.Dataset]] = {
    "simulate": lambda of, start: fk.simulate(of, start, iterations=6),
    "convergence": lambda of, start: fk.convergence(of, start, iterations=60),
    "attractors": lambda of, start: fk.attractors(of, start, iterations=60, longest_period=10),
    "basins": lambda of, start: fk.basins(of, start, iterations=60),
}
COHORTS_ALONE = {"convergence", "attractors"}


@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("starts", STARTS)
def test_starts_go_in_as_they_are(starts: str, consumer: str) -> None:
    system = ALIKE if consumer == "basins" else MIXED
    start = STARTS[starts](system)
    if system is MIXED and starts == "perturbed" and consumer in COHORTS_ALONE:
        # Each class has noise of its own: no state of cohorts, which is what there is to follow.
        with pytest.raises(
            fk.InputError, match=r"out of proportion to their shares \(trajectory 0\)"
        ):
            CONSUMERS[consumer](system, start)
        return
    found = CONSUMERS[consumer](system, start)
    assert found.sizes["batch"] == {"uniform": 3, "burst": 1, "equilibrium": 1}.get(starts, 2)


@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("starts", STARTS)
def test_starts_of_many_systems_go_in_as_they_are(starts: str, consumer: str) -> None:
    systems = MANY["alike" if consumer == "basins" else "mixed"]
    start = STARTS[starts](systems)
    if consumer in COHORTS_ALONE and starts == "perturbed":
        with pytest.raises(fk.InputError, match=r"out of proportion .*system 0, start 0\)"):
            CONSUMERS[consumer](systems, start)
        return
    found = CONSUMERS[consumer](systems, start)
    assert found.sizes["system"] == 2
    assert found.capacity.values.tolist() == systems.capacity.floats.tolist()


def test_a_state_of_classes_that_has_run_for_d_iterations_is_one_of_cohorts() -> None:
    start = fk.perturbed_starts(KEY, MIXED, count=3, size=0.9)
    late = fk.simulate(MIXED, start, iterations=5, record=()).final_state.values
    found = fk.convergence(MIXED, late, iterations=60)
    again = fk.convergence(MIXED, late[:, 1] / 0.5, iterations=60)
    np.testing.assert_array_equal(found.outcome, again.outcome)
    # The cohort masses come out of sums of two classes.
    np.testing.assert_allclose(found.final_state, again.final_state, rtol=1e-9)
