"""The engine of whole requests against its literal reference, step by step."""

from itertools import islice

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from fluidkv.errors import InputError
from fluidkv.exact.one_class.whole import whole_steps
from fluidkv.fluid import Cycle, Evictions, Windows, rollout
from fluidkv.fluid.observers import Fronts, Settled
from fluidkv.fluid.whole import WholeModel, simulate_whole, whole_step
from tests.small_systems import SMALL, one_class
from tests.strategies import whole_states


def assert_equal_to_reference(system, start, found):
    steps = list(islice(whole_steps(system, start), found.sizes["iteration"]))
    assert found.completed.values.tolist() == [s.completed for s in steps]
    assert found.evicted.values.tolist() == [sum(s.evicted) for s in steps]
    assert found.admitted.values.tolist() == [s.admitted for s in steps]
    assert [tuple(row) for row in found.state.values.tolist()] == [s.state for s in steps]


@given(whole_states())
@settings(max_examples=40)
def test_the_engine_is_the_reference_at_every_step(system_and_start):
    system, start = system_and_start
    found = simulate_whole(system, start, iterations=12, states=True).isel(batch=0)
    assert_equal_to_reference(system, start, found)


def test_a_batch_is_its_trajectories():
    starts = [[2, 2, 2], [8, 0, 0], [0, 0, 0], [1, 1, 2]]
    found = simulate_whole(SMALL, starts, iterations=30, states=True)
    for b, start in enumerate(starts):
        assert_equal_to_reference(SMALL, start, found.isel(batch=b))
    assert found.final_state.values.tolist() == found.state[:, -1].values.tolist()


def test_a_batch_of_capacities_shares_one_start():
    found = simulate_whole(SMALL, [0, 0, 0], iterations=30, capacity=[6, 24, 100], states=True)
    for b, capacity in enumerate((6, 24, 100)):
        assert_equal_to_reference(one_class(2, 3, capacity), [0, 0, 0], found.isel(batch=b))


def test_the_step_goes_through_rollout_jit_and_vmap():
    weights, capacities = jnp.arange(3, 6), jnp.array([6, 24, 100])

    def end(capacity):
        model, begun = WholeModel(weights, capacity), jnp.zeros_like(weights)
        run = rollout(model, begun, 30, step=whole_step, observe=Fronts(), every=1)
        return run.state, run.observed

    found = simulate_whole(SMALL, [0, 0, 0], iterations=30, capacity=[6, 24, 100], states=True)
    states, fronts = jax.jit(jax.vmap(end))(capacities)
    np.testing.assert_array_equal(states, found.final_state)
    np.testing.assert_array_equal(fronts != -1, found.evicted > 0)
    for state, front in zip(found.state.values[fronts > 0], fronts[fronts > 0], strict=True):
        assert not state[1:front].any()  # below the front nothing is left; some may be admitted


@pytest.mark.daily(1)
@pytest.mark.parametrize("wide", [False, True])
def test_what_masses_have_is_observed_of_whole_requests_in_either_precision(wide):
    found = simulate_whole(SMALL, [8, 0, 0], iterations=14, states=True).isel(batch=0)
    names = ("evicting", "in_flight", "flight_time", "evicted", "memory", "state")
    watch = {"windows": Windows(names), "fronts": Fronts(), "count": Evictions()}
    watch["cycle"] = Cycle(0)
    with jax.enable_x64(wide):
        model, begun = WholeModel(np.array([3, 4, 5]), 24), np.array([8, 0, 0])
        run = rollout(model, begun, 14, step=whole_step, observe=watch, every=1)
        with pytest.raises(InputError, match="observe: got 'Settled of WholeModel'"):
            rollout(model, begun, 6, step=whole_step, observe=Settled(0.1))
    seen, evicts = run.observed["windows"], found.evicted.values > 0
    for name in ("evicted", "memory", "state"):
        np.testing.assert_array_equal(seen[name], found[name])
    for name in ("in_flight", "flight_time"):
        np.testing.assert_array_equal(seen[name], found.state.sum("stage"))
    np.testing.assert_array_equal(seen["evicting"], evicts)
    np.testing.assert_array_equal(run.observed["fronts"] >= 0, evicts)
    assert run.observed["count"] == evicts.sum() > 0
    period, since = map(int, run.observed["cycle"])
    np.testing.assert_array_equal(found.state[since - 1], found.state[since - 1 + period])


@pytest.mark.parametrize(
    ("model", "state", "argument"),
    [
        (WholeModel(np.zeros(0, int), 24), np.zeros(0, int), "model"),
        (WholeModel(np.arange(3, 6), 24), np.zeros(2, int), "state"),
        (WholeModel(np.arange(3, 6), 24), np.zeros((2, 3), int), "state"),
        (WholeModel(np.arange(3, 6), 24), np.zeros(3), "state"),
        (WholeModel(np.arange(3, 6), np.array([24, 25])), np.zeros(3, int), "model"),
        (WholeModel(np.ones((1, 3), int), 24), np.zeros(3, int), "model"),
        (WholeModel(np.arange(3.0, 6.0), 24), np.zeros(3, int), "model"),
        (WholeModel(np.arange(3, 6), 24), np.array([[1], [2, 3]], object), "state"),
    ],
)
def test_what_does_not_fit_the_step_is_named_while_tracing(model, state, argument):
    traced = jax.jit(lambda: whole_step(model, state))
    for step in (lambda: whole_step(model, state), traced):
        with pytest.raises(InputError, match=f"^{argument}: "):
            step()


def test_memory_is_never_above_capacity_and_counts_are_whole():
    found = simulate_whole(one_class(20, 20, 1000), np.zeros(20, int), iterations=4000)
    assert found.memory.max() <= 1000
    assert all(found[name].dtype == np.int64 for name in found.data_vars)
    assert found.completed[0, -1000:].sum() == 1250  # 1.25 an iteration


@pytest.mark.parametrize(
    ("start", "options", "argument"),
    [
        ([2.0, 2.0, 2.0], {}, "start"),
        ([2, 2], {}, "start"),
        ([[2, 2, 2], [1, 1]], {}, "start"),
        ([2, 2, -1], {}, "start"),
        ([9, 0, 0], {}, "start"),
        ([2, 2, 2], {"capacity": [5]}, "capacity"),
        ([2, 2, 2], {"capacity": [24.0]}, "capacity"),
        ([2, 2, 2], {"capacity": [24, 23]}, "start"),
        ([[2, 2, 2]] * 2, {"capacity": [24] * 3}, "start"),
        ([2, 2, 2], {"iterations": 0}, "iterations"),
    ],
)
def test_bad_input_is_named(start, options, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        simulate_whole(SMALL, start, **({"iterations": 5} | options))
