"""What convergence() reports of starts, against the literal reference."""

import re
from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.exact import mass
from fluidkv.fluid import (
    class_model,
    cohort_model,
    perturbed_starts,
    start_families,
    uniform_starts,
)
from fluidkv.fluid.outcomes.convergence import NOT_SETTLED, PERIODIC, RETURNED, convergence
from fluidkv.systems import Systems
from fluidkv.workload import System
from tests.conventions import complaints
from tests.fluid.outcomes.cases import COMMON, COPRIME, memory_shares, mixed, states_of
from tests.strategies import cohort_profiles, systems

EPS = np.finfo(np.float64).eps
KEY = jax.random.key(4)


def test_many_systems_are_the_loop_over_them():
    of = Systems.of([COPRIME, COMMON, mixed(5, 9, "1/2", 65), mixed(2, 7, "1/2", 17)])
    starts = np.zeros((4, 40, 9))
    for i, system in enumerate(of):
        own = uniform_starts(jax.random.key(i), system, count=40)
        starts[i, :, : own.shape[1]] = own
    together = convergence(of, starts, iterations=4000)
    assert complaints(together) == []
    assert together.rule.values.tolist() == ["modes", "none", "modes", "none"]
    for i, system in enumerate(of):
        ages = system.workload.longest_decode
        alone = convergence(system, starts[i, :, :ages], iterations=4000)
        assert complaints(alone) == []
        part = together.isel(system=i, stage=slice(ages))
        for name in ("outcome", "settled", "last_eviction", "period", "final_state"):
            assert np.array_equal(part[name], alone[name]), name
        # Sums over stages, with zeros behind: another order of summation, of a few requests.
        assert np.allclose(part.evicted, alone.evicted, rtol=1e-12, atol=1e-12)
        assert np.array_equal(part.deviation, alone.deviation)


def test_a_trajectory_does_not_depend_on_those_beside_it():
    starts = np.concatenate(list(start_families(KEY, COPRIME, count=80).values()))
    together = convergence(COPRIME, starts, iterations=600)
    for i in (0, 7, 50):
        alone = convergence(COPRIME, starts[i], iterations=600)
        for name, column in alone.items():
            assert np.array_equal(column[0], together[name][i]), name


def test_masses_of_classes_and_perturbed_starts_are_taken_as_they_are():
    starts = perturbed_starts(KEY, class_model(COPRIME), count=5, size=0.1)
    cohorts = perturbed_starts(KEY, cohort_model(COPRIME), count=5, size=0.1)
    assert convergence(COPRIME, cohorts).outcome.values.tolist() == [RETURNED] * 5
    with pytest.raises(InputError, match="out of proportion"):
        convergence(COPRIME, starts)
    by_class = cohorts * np.array([1 / 2, 1 / 2])[:, None]
    by_class[:, 0, 2:] = 0.0
    same = convergence(COPRIME, by_class)
    assert np.array_equal(same.settled, convergence(COPRIME, cohorts).settled)


@given(systems(), st.data())
def test_capacity_scales_everything_and_matters_to_nothing(system, data):
    # The masses of M' = c M are c times those of M, in the literal model.
    cohorts = data.draw(cohort_profiles(system))
    state, factor = states_of(system, cohorts), Fraction(7, 2)
    larger = System(system.workload, system.capacity * factor)
    scaled = [[factor * x for x in row] for row in state]
    for _ in range(4):
        state = mass.iterate(system, state).state
        scaled = mass.iterate(larger, scaled).state
    assert scaled == [[factor * x for x in row] for row in state]


def test_example_4_returns_from_every_kind_of_start():
    for starts in start_families(KEY, COPRIME, count=80).values():
        found = convergence(COPRIME, starts, iterations=2000)
        assert set(found.outcome.values) == {RETURNED}
        assert np.all(found.settled >= found.last_eviction)
        assert found.attrs["rule"] == "modes"
        assert np.all((found.evicted > 0) <= (found.last_eviction > 0))


def test_example_5_ends_on_the_pulse_cycle():
    # gcd 2: the equilibrium is unstable and a cycle of period 2 attracts (section B.10).
    found = convergence(COMMON, uniform_starts(KEY, COMMON, count=20), iterations=20_000)
    assert found.attrs["rule"] == "none"
    assert set(found.outcome.values) == {PERIODIC}
    assert set(found.period.values) == {2}
    assert np.all(found.last_eviction > 0)


def test_a_short_horizon_is_not_a_verdict():
    system = mixed(5, 9, "1/2", 65)
    found = convergence(system, start_families(KEY, system, count=4)["burst"], iterations=60)
    assert set(found.outcome.values) == {NOT_SETTLED}
    assert np.all(found.settled == -1)


def test_evicted_requests_and_last_eviction_are_those_of_the_literal_model():
    system = mixed(2, 3, "1/4", 7)
    (start,) = start_families(KEY, system, count=4)["sparse"]
    cohorts = [Fraction(float(y)) for y in start]
    used = sum(memory_shares(system, cohorts))
    cohorts = [y / used for y in cohorts]  # exactly on the boundary
    found = convergence(system, [float(y) for y in cohorts], radius=1e-6).isel(batch=0)
    assert found.outcome == RETURNED
    state, evicted, last = states_of(system, cohorts), Fraction(0), 0
    for n in range(1, int(found.settled) + 1):
        step = mass.iterate(system, state)
        lost = sum(x for row in step.evicted for x in row)
        evicted, last = evicted + lost, n if lost > 0 else last
        state = step.state
    assert last == found.last_eviction
    # A difference of sums over all iterations, each of a few requests and rounded at 1e-16.
    assert float(found.evicted) == pytest.approx(float(evicted), rel=1e-12)


def test_starts_are_where_they_are_said_to_be():
    system = mixed(3, 5, "1/3", 7)
    weights = cohort_model(system).weights[0]
    families = start_families(KEY, system, count=100)
    memory = {name: starts @ weights / float(system.capacity) for name, starts in families.items()}
    for name, used in memory.items():
        if name == "spare":
            assert np.all(used <= 1)
            assert used.min() < 0.5
        else:
            assert np.allclose(used, 1, rtol=0, atol=20 * EPS)
    assert set((families["sparse"] > 0).sum(axis=1)) == {1, 2, 3}
    assert np.array_equal((families["burst"] > 0), np.eye(5, dtype=bool))
    assert np.all(families["pulse"] > 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"starts": [[1.0, 2.0]]}, "start: got 'shape"),
        ({"starts": [[1.0, -2.0, 0.0]]}, "start: got 'a negative"),
        ({"starts": [[100.0, 0.0, 0.0]]}, "start: got 'memory "),
        ({"iterations": 0}, "iterations: got 0"),
        ({"radius": 1.5}, "radius: got 1.5"),
    ],
)
def test_bad_input_gets_one_line(arguments, message):
    with pytest.raises(InputError, match="^" + re.escape(message)):
        convergence(COPRIME, **{"starts": [[1.0, 0.0, 0.0]], **arguments})
