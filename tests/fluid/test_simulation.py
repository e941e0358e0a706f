"""Simulation in batches: what is recorded, what is conserved, what JAX is left like."""

import math
from fractions import Fraction
from typing import Any

import equinox as eqx
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.fluid import (
    Windows,
    burst_state,
    class_model,
    cohort_model,
    empty_state,
    perturbed_starts,
    plain,
    recorded,
    rollout,
    simulate,
)
from fluidkv.fluid.recorded import RECORDS
from fluidkv.workload import RequestClass, System, Workload
from tests.small_systems import SMALL
from tests.strategies import systems

EPS = np.finfo(np.float64).eps
MIXED = System(
    Workload((RequestClass(3, 2, Fraction(1, 3)), RequestClass(1, 5, Fraction(2, 3)))), Fraction(60)
)


@pytest.fixture
def starts():
    return perturbed_starts(jax.random.key(1), class_model(MIXED), count=5, size=0.9)


def test_one_burst_runs_through_the_maximal_eviction_cycle():
    # Congestion, Example 2, level 2. All numbers are quotients of 24 by 3, 4, 5, so a few
    # roundings apart; the zeros are exact.
    model = class_model(SMALL)
    states = simulate(model, burst_state(model), iterations=6, record=["state"]).state
    cycle = np.array([[0, 6, 0], [0, 0, 4.8], [8, 0, 0]] * 2)
    np.testing.assert_allclose(states.values[0, :, 0], cycle, rtol=8 * EPS, atol=0)


def test_a_disturbed_equilibrium_ends_in_the_maximal_eviction_cycle():
    # Congestion, Example 3: the cycle is reached at n = 16.
    start = [[5 / 2, 2, 17 / 10]]
    data = simulate(SMALL, start, iterations=18, record=["state", "empty_stages"])
    at = data.sel(batch=0, iteration=[16, 17, 18])
    cycle = [[0, 0, 4.8], [8, 0, 0], [0, 6, 0]]
    np.testing.assert_allclose(at.state.values[:, 0], cycle, rtol=8 * EPS, atol=0)
    assert at.empty_stages.values.tolist() == [2, 2, 2]


def test_dimensions_are_named_in_the_documented_order(starts):
    data = simulate(MIXED, starts, iterations=6, record=RECORDS, every=2)
    assert data.state.dims == ("batch", "iteration", "class", "stage")
    assert data.state.shape == (5, 3, 2, 5)
    assert data.evicted.dims == ("batch", "iteration", "class")
    assert data.memory.dims == ("batch", "iteration")
    assert data.iteration.values.tolist() == [2, 4, 6]
    assert all(variable.dtype == np.float64 for variable in data.data_vars.values())
    assert np.array_equal(data.final_state, data.state.isel(iteration=-1))


def test_a_batch_equals_its_trajectories_one_by_one(starts):
    # XLA vectorises over the batch, and contracts products and sums in another way for one
    # trajectory; with at most 30 operations behind a number below 60, in one iteration.
    batch = simulate(MIXED, starts, iterations=1, record=RECORDS)
    for b, start in enumerate(starts):
        alone = simulate(MIXED, start, iterations=1, record=RECORDS)
        for name in (*RECORDS, "final_state"):
            np.testing.assert_allclose(
                batch[name].values[b], alone[name].values[0], rtol=0, atol=60 * 30 * EPS
            )


def test_capacities_along_the_batch_equal_one_system_each(starts):
    capacities = [50, 60, 75]
    model = class_model(MIXED)
    sweep = model.with_capacity(capacities)
    start = burst_state(sweep)
    batch = simulate(sweep, start, iterations=9, record=["state"])
    for b, capacity in enumerate(capacities):
        one = class_model(System(MIXED.workload, Fraction(capacity)))
        np.testing.assert_allclose(burst_state(one), start[b], rtol=4 * EPS, atol=0)
        alone = simulate(one, start[b], iterations=9, record=["state"])
        # Nine iterations of at most 30 roundings each, of numbers below 75.
        np.testing.assert_allclose(
            batch.state.values[b], alone.state.values[0], rtol=0, atol=75 * 9 * 30 * EPS
        )


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_asked_for_alone_is_the_same(starts, name):
    everything = simulate(MIXED, starts, iterations=12, record=RECORDS)
    alone = simulate(MIXED, starts, iterations=12, record=[name])
    assert set(alone.data_vars) == {name, "final_state"}
    # Other records change what XLA fuses, and with it the order of a sum over at most 10 masses.
    np.testing.assert_allclose(alone[name], everything[name], rtol=0, atol=60 * 20 * EPS)


def test_nothing_asked_for_is_nothing_recorded(starts):
    assert set(simulate(MIXED, starts, iterations=3, record=()).data_vars) == {"final_state"}


def test_windows_sum_flows_and_sample_levels(starts):
    fine = simulate(MIXED, starts, iterations=12, record=RECORDS)
    coarse = simulate(MIXED, starts, iterations=12, record=RECORDS, every=4)
    for name in ("admitted", "completed", "evicted"):
        sums = fine[name].values.reshape(5, 3, 4, 2).sum(axis=2)
        # Four numbers below 60 added in another order.
        np.testing.assert_allclose(coarse[name].values, sums, rtol=0, atol=60 * 4 * EPS)
    for name in ("memory", "in_flight", "empty_stages", "state"):
        last = fine[name].sel(iteration=[4, 8, 12]).values
        np.testing.assert_allclose(coarse[name].values, last, rtol=0, atol=60 * 20 * EPS)


@pytest.mark.parametrize(("engine", "tolerance"), [("plain", 0.0), ("labels", 60 * 200 * EPS)])
def test_final_state_continues_a_trajectory(starts, engine, tolerance):
    # Labels go on from sums made anew, each of which rounds some ten times an iteration.
    call = {"record": (), "engine": engine}
    whole = simulate(MIXED, starts, iterations=20, **call)
    half = simulate(MIXED, starts, iterations=10, **call)
    rest = simulate(MIXED, half.final_state.values, iterations=10, **call)
    np.testing.assert_allclose(whole.final_state, rest.final_state, rtol=0, atol=tolerance)


@settings(max_examples=8)  # most examples compile a new shape, about 0.4 s
@given(systems(), st.sampled_from([class_model, cohort_model]), st.integers(0, 9))
def test_memory_stays_full_and_requests_are_conserved(system, build, seed):
    model = build(system)
    start = perturbed_starts(jax.random.key(seed), model, count=3, size=0.8)
    names = ("admitted", "completed", "evicted", "memory", "in_flight")
    data = simulate(model, start, iterations=20, record=names)
    classes, stages = model.weights.shape
    terms = classes * stages + stages + 8  # products and sums behind one number
    capacity = float(system.capacity)
    assert np.max(np.abs(data.memory - capacity)) <= 2 * terms * EPS * capacity
    before = np.concatenate(
        [(start * model.survival).sum(axis=2)[:, None], data.in_flight.values[:, :-1]], axis=1
    )
    gained = before + data.admitted.values
    lost = data.completed.values + data.evicted.values + data.in_flight.values
    assert np.max(np.abs(gained - lost)) <= 2 * terms * EPS * capacity


def test_another_capacity_or_other_weights_compile_nothing(starts):
    @eqx.filter_jit
    @eqx.debug.assert_max_traces(max_traces=1)
    def run(model, state):
        return rollout(model, state, 3, observe=Windows(("memory",)), every=1)

    model = class_model(MIXED)
    other = class_model(
        System(
            Workload((RequestClass(9, 5, Fraction(1, 2)), RequestClass(7, 4, Fraction(1, 2)))),
            Fraction(200),
        )
    )
    with jax.enable_x64(True):
        for m in (model, model.with_capacity(77), other):
            run(m, starts[0])


def test_other_capacities_and_batches_compile_nothing(starts):
    compiled: Any = plain._roll
    model = class_model(MIXED)
    crowd = np.resize(starts, (101, *starts.shape[1:]))

    def run(capacity, batch):
        simulate(
            model.with_capacity(capacity),
            crowd[:batch],
            iterations=100,
            record=["memory"],
            engine="plain",
        )

    run(60, 100)
    before = compiled._cache_size()
    for capacity, batch in ((80.5, 100), (60, 101), (60, 65)):
        run(capacity, batch)
    assert compiled._cache_size() == before


def test_global_precision_is_left_alone(starts):
    assert not jax.config.read("jax_enable_x64")
    simulate(MIXED, starts, iterations=2)
    assert not jax.config.read("jax_enable_x64")
    assert jax.numpy.zeros(1).dtype == np.float32


def test_the_same_key_gives_the_same_starts_on_the_boundary():
    model = cohort_model(MIXED)
    first, again, other = (
        perturbed_starts(jax.random.key(seed), model, count=4, size=0.5) for seed in (3, 3, 4)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    used = np.einsum("bks,ks->b", first, model.weights)
    np.testing.assert_allclose(used, 60, rtol=8 * EPS)  # one scaling of a sum of 5 products


def test_an_empty_system_admits_one_burst():
    model = class_model(MIXED)
    final = simulate(model, empty_state(model), iterations=1, record=()).final_state.values[0]
    # Both are capacity over cost times share, in another order of the three operations.
    np.testing.assert_allclose(final, burst_state(model), rtol=4 * EPS, atol=0)


GOOD = [[2.0, 2.0, 2.0]]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"start": 2.0}, "start"),
        ({"start": [[2.0, 2.0]]}, "start"),
        ({"start": np.zeros((0, 1, 3))}, "start"),
        ({"start": [["a", 2, 2]]}, "start"),
        ({"start": [[-1.0, 2.0, 2.0]]}, "start"),
        ({"start": [[math.nan, 2.0, 2.0]]}, "start"),
        ({"start": [[math.inf, 2.0, 2.0]]}, "start"),
        ({"start": [[2.0, 2.0, 2.0 + 1e-9]]}, "start"),
        ({"iterations": 0}, "iterations"),
        ({"iterations": 2.0}, "iterations"),
        ({"iterations": True}, "iterations"),
        ({"iterations": 5, "every": 2}, "iterations"),
        ({"every": 0}, "every"),
        ({"record": ["memory", "entropy"]}, "record"),
        ({"engine": "fast"}, "engine"),
    ],
)
def test_bad_input_is_named_before_jax_runs(arguments, named, monkeypatch):
    monkeypatch.setattr("fluidkv.fluid.simulation._roll", None)
    call = {"start": GOOD, "iterations": 4} | arguments
    start = call.pop("start")
    with pytest.raises(InputError, match=f"^{named}: "):
        simulate(SMALL, start, **call)


def test_mass_in_a_stage_that_a_class_does_not_have_is_refused():
    start = np.zeros((2, 5))
    start[0, 2] = 1.0  # class 0 decodes for 2 iterations only
    with pytest.raises(InputError, match=r"^start: got 'mass beyond a decode length"):
        simulate(MIXED, start, iterations=1)


@pytest.mark.parametrize("capacity", [0, -1, math.nan, math.inf, "much", [], [[1.0]]])
def test_bad_capacities_are_named(capacity):
    with pytest.raises(InputError, match=r"^capacity: "):
        class_model(SMALL).with_capacity(capacity)


def test_capacities_and_starts_must_agree(starts):
    with pytest.raises(InputError, match=r"^start: got '5 trajectories'; allowed: 3"):
        simulate(class_model(MIXED).with_capacity([60, 70, 80]), starts, iterations=1)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({"count": 0}, "count"), ({"size": 0}, "size"), ({"size": 1.5}, "size")],
)
def test_bad_perturbations_are_named(arguments, named):
    call = {"count": 2, "size": 0.1} | arguments
    with pytest.raises(InputError, match=f"^{named}: "):
        perturbed_starts(jax.random.key(0), class_model(SMALL), **call)


@pytest.mark.parametrize("of", [MIXED, [MIXED, SMALL]], ids=["one", "many"])
def test_more_trajectories_than_memory_are_refused_before_they_start(of, monkeypatch):
    monkeypatch.setattr(recorded, "free_memory", lambda: 10_000)
    start = np.zeros((1000, 5)) if isinstance(of, System) else np.zeros((2, 500, 5))
    allowed = r"allowed: at most \d+ at once, for which 0.0 GB are free; or fewer records"
    with pytest.raises(InputError, match=f"start: got '1,000 trajectories, .*{allowed}"):
        simulate(of, start, iterations=10)
    monkeypatch.setattr(recorded, "free_memory", lambda: None)  # nobody says
    assert simulate(of, start[..., :2, :], iterations=10).sizes["iteration"] == 10
