"""Cohort iteration in memory shares against the literal reference; what convergence() reports.

Tolerance of one step. Shares are at most 1. A step rounds d growths, d products and d differences,
each of a number of at most 2 (a cohort at most doubles its memory when it ages, as w_{s+1} / w_s
= 1 + 1 / (l0 + 1 + s) <= 3/2), so that 8 d roundings bound it with room.
"""

from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.exact import mass
from fluidkv.exact.mixed.mix import two_lengths
from fluidkv.exact.survival import survival_weights
from fluidkv.fluid import class_model, cohort_model, perturbed_starts, uniform_starts
from fluidkv.fluid.boundary import (
    burst_starts,
    pulse_starts,
    spare_starts,
    sparse_starts,
    start_families,
)
from fluidkv.fluid.cohorts.convergence import NOT_SETTLED, PERIODIC, RETURNED, convergence
from fluidkv.fluid.cohorts.eviction_free import eviction_free_radius, stable_modes
from fluidkv.fluid.cohorts.following import advance
from fluidkv.fluid.cohorts.parts import shares_of, tables_of
from fluidkv.systems import Systems
from fluidkv.workload import System
from tests.conventions import complaints
from tests.strategies import cohort_profiles, systems

EPS = np.finfo(np.float64).eps
KEY = jax.random.key(4)


def mixed(first, second, share, input_length, capacity=None):
    workload = two_lengths(first, second, Fraction(share)).workload(input_length)
    return System(workload, capacity or 10 * workload.largest_footprint)


COPRIME = mixed(2, 3, "1/2", 50, 518)
COMMON = mixed(2, 4, "1/2", 50, 626)


def states_of(system, cohorts):
    return [[c.share * y for y in cohorts[: c.decode_length]] for c in system.workload.classes]


def exact_shares(system, cohorts):
    """V_s y_s / M, exact."""
    weights = survival_weights(system.workload)
    per_mass = [Fraction(v, weights.denominator) / system.capacity for v in weights.memory]
    return [v * y for v, y in zip(per_mass, cohorts, strict=True)]


def one_step(system, shares):
    tables = tables_of(system, len(shares))
    after = np.array([[float(m) for m in shares]])
    advance(tables, 1, np.arange(1), 1, after)
    return after[0]


@given(systems(), st.data())
def test_a_step_in_memory_shares_is_the_literal_iteration(system, data):
    cohorts = data.draw(cohort_profiles(system))
    for _ in range(3):
        step = mass.iterate(system, states_of(system, cohorts))
        after = [
            sum(row[s] for row in step.state if s < len(row))
            / sum(c.share for c in system.workload.classes if c.decode_length > s)
            for s in range(system.workload.longest_decode)
        ]
        got = one_step(system, exact_shares(system, cohorts))
        exact = [float(m) for m in exact_shares(system, after)]
        assert np.max(np.abs(got - exact)) <= 8 * len(cohorts) * EPS
        cohorts = after


def test_systems_side_by_side_do_what_each_does_alone():
    # Of 2 to 9 ages in one pool of 9 rows, 40 iterations: the same operations, so the same bits.
    of = Systems.of([COPRIME, COMMON, mixed(5, 9, "1/2", 65), mixed(2, 7, "1/2", 17)])
    starts = np.zeros((4, 50, 9))
    for i, system in enumerate(of):
        own = uniform_starts(jax.random.key(i), system, count=50)
        starts[i, :, : own.shape[1]] = own
    tables = tables_of(of, 9)
    together = shares_of(tables, starts)
    advance(tables, 50, np.arange(200), 40, together)
    for i, system in enumerate(of):
        ages = system.workload.longest_decode
        alone_tables = tables_of(system, ages)
        alone = shares_of(alone_tables, starts[i : i + 1, :, :ages])
        advance(alone_tables, 50, np.arange(50), 40, alone)
        assert np.array_equal(together[50 * i : 50 * (i + 1), :ages], alone)
        assert not together[50 * i : 50 * (i + 1), ages:].any()


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
    found = convergence(system, burst_starts(system), iterations=60)
    assert set(found.outcome.values) == {NOT_SETTLED}
    assert np.all(found.settled == -1)


def test_evicted_requests_and_last_eviction_are_those_of_the_literal_model():
    system = mixed(2, 3, "1/4", 7)
    (start,) = sparse_starts(KEY, system, count=1, most=2)
    cohorts = [Fraction(float(y)) for y in start]
    used = sum(exact_shares(system, cohorts))
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


@pytest.mark.parametrize("system", [COPRIME, mixed(5, 9, "1/2", 80), mixed(2, 7, "1/2", 18)])
def test_no_eviction_comes_from_within_the_radius(system):
    # Corners of the cube of that radius are its worst points; no memory constraint is put on them.
    weights = cohort_model(system).weights[0]
    radius = eviction_free_radius(system)
    assert radius is not None
    phi = np.eye(weights.size, k=-1)
    phi[0, :-1], phi[0, -1] = -weights[1:] / weights[0], 0.0
    row, worst = phi[0], 0.0
    for _ in range(20_000):
        worst = max(worst, np.abs(row).sum())
        row = row @ phi
    # x* (1 + sum of |row| * deviation) > 0, and the radius is not smaller than it need be.
    assert worst * radius < 1
    assert worst * radius > 1 - 1e-5


@pytest.mark.parametrize("system", [COPRIME, mixed(5, 9, "1/2", 65), mixed(2, 7, "1/2", 18)])
def test_modes_foretell_the_admissions(system):
    # 40 iterations of the literal model from a start near the equilibrium, in rationals.
    modes = stable_modes(system)
    assert modes is not None
    weights = survival_weights(system.workload)
    rate = system.capacity / weights.lifetime_memory
    cohorts = [rate * (1 + Fraction((-1) ** s * (s + 1), 100)) for s in range(weights.ages)]
    used = sum(exact_shares(system, cohorts))
    cohorts = [y / used for y in cohorts]
    parts = modes.parts @ np.array([float(y / rate) - 1 for y in cohorts])
    assert np.abs(parts).sum() < 1  # so that no eviction comes
    state = states_of(system, cohorts)
    for k in range(1, 41):
        step = mass.iterate(system, state)
        state = step.state
        foretold = (parts * modes.multipliers**k).sum().real
        # Eigenvectors of condition below 1e4 here, 1e-16 each.
        assert foretold == pytest.approx(float(sum(step.admitted) / rate) - 1, abs=1e-10)
        assert not any(x for row in step.evicted for x in row)


def test_there_is_no_radius_where_the_equilibrium_is_unstable():
    assert eviction_free_radius(COMMON) is None
    assert eviction_free_radius(mixed(2, 7, "1/2", 17)) is None
    assert stable_modes(COMMON) is None
    assert stable_modes(mixed(2, 7, "1/2", 17)) is None


def test_starts_are_where_they_are_said_to_be():
    system = mixed(3, 5, "1/3", 7)
    weights = cohort_model(system).weights[0]
    memory = {
        name: starts @ weights / float(system.capacity)
        for name, starts in start_families(KEY, system, count=100).items()
    }
    for name, used in memory.items():
        if name == "spare":
            assert np.all(used <= 1)
            assert used.min() < 0.5
        else:
            assert np.allclose(used, 1, rtol=0, atol=20 * EPS)
    occupied = (sparse_starts(KEY, system, count=200, most=3) > 0).sum(axis=1)
    assert set(occupied) == {1, 2, 3}
    assert np.array_equal((burst_starts(system) > 0), np.eye(5, dtype=bool))
    assert np.all(pulse_starts(KEY, system, count=10) > 0)
    again = spare_starts(KEY, system, count=3)
    assert np.array_equal(again, spare_starts(KEY, system, count=3))


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
    with pytest.raises(InputError) as error:
        convergence(COPRIME, **{"starts": burst_starts(COPRIME), **arguments})
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
