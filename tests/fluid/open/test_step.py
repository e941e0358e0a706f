"""The pure open map: what JAX does with it, and its derivatives."""

from dataclasses import replace
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.fluid import (
    Evictions,
    Extremes,
    FirstEviction,
    Total,
    Windows,
    class_model,
    open_step,
    perturbed_starts,
    rollout,
    simulate_open,
)
from fluidkv.fluid.observers import Fronts
from fluidkv.fluid.open.iteration import OpenModel, OpenState
from fluidkv.workload import RequestClass, System, Workload

THIRD = Fraction(1, 3)
MIXED = System(Workload((RequestClass(3, 2, THIRD), RequestClass(1, 5, 2 * THIRD))), 60)
MASS = class_model(MIXED)
RATES = np.array([2.0, 4.5])
EMPTY = OpenState(np.zeros((2, 5)), np.zeros(2))
jitted = jax.jit(open_step)


pytestmark = pytest.mark.usefixtures("in_64_bits")


def test_the_front_is_the_rollout_of_the_step():
    arrivals = np.random.default_rng(1).poisson(RATES, (12, 2)).astype(float)
    watch = {
        "records": Windows(("evicted", "queue")),
        "first": FirstEviction(),
        "completed": Total("completed"),
        "memory": Extremes("memory"),
    }
    made = rollout(
        OpenModel(MASS, arrivals, 11.0), EMPTY, 12, observe=watch, step=open_step, every=3
    )
    record = ("evicted", "queue", "evicting", "completed", "memory")
    fine = simulate_open(MIXED, arrivals=arrivals, cap=11.0, record=record).isel(batch=0)
    windows = fine.evicted.values.reshape(4, 3, 2).sum(axis=1)
    np.testing.assert_allclose(made.observed["records"]["evicted"], windows, atol=1e-13)
    np.testing.assert_allclose(made.observed["records"]["queue"], fine.queue[2::3], atol=1e-13)
    assert made.observed["first"].item() == 1 + int(np.argmax(fine.evicting.values))
    completed = fine.completed.sum("iteration")
    np.testing.assert_allclose(made.observed["completed"], completed, atol=1e-12)
    extremes = fine.memory.min(), fine.memory.max()
    np.testing.assert_allclose(made.observed["memory"], extremes, atol=1e-12)
    assert int(made.state.iteration) == 12


@pytest.mark.thorough
def test_a_key_draws_poisson_arrivals_and_the_same_key_the_same():
    model, key = OpenModel(MASS, RATES), jax.random.key(3)

    @jax.jit
    def run(key):
        watch = Windows(("arrived",))
        return rollout(model, EMPTY, 2000, observe=watch, step=open_step, every=1, key=key)

    arrived = np.asarray(run(key).observed["arrived"])
    assert np.array_equal(arrived, run(key).observed["arrived"])
    assert not np.array_equal(arrived, run(jax.random.key(4)).observed["arrived"])
    # 2,000 Poisson numbers: mean within 5 standard errors, and integers.
    assert np.all(np.abs(arrived.mean(axis=0) - RATES) < 5 * np.sqrt(RATES / 2000))
    assert np.array_equal(arrived, np.round(arrived))
    # What is drawn at iteration n is what that key draws alone.
    alone = jax.random.poisson(jax.random.fold_in(key, 7), RATES)
    np.testing.assert_array_equal(arrived[6], alone)


def test_a_batch_is_vmap_over_states_caps_rates_and_capacities():
    masses = 0.8 * perturbed_starts(jax.random.key(0), MIXED, count=4, size=0.5)
    caps, rates = jnp.array([1.0, 3.0, 5.0, np.inf]), RATES * np.linspace(0.5, 2, 4)[:, None]
    capacities = jnp.array([60.0, 55.0, 70.0, 80.0])

    def one(masses, cap, rates, capacity):
        model = OpenModel(replace(MASS, capacity=capacity), rates, cap)
        run = rollout(model, OpenState(masses, jnp.ones(2)), 9, observe=Evictions(), step=open_step)
        return run.state.masses, run.observed

    batch, counts = jax.jit(jax.vmap(one))(masses, caps, rates, capacities)
    assert int(counts.max()) > 0
    single = jax.jit(one)
    for i in range(4):
        alone, count = single(masses[i], caps[i], rates[i], capacities[i])
        # Nine iterations of some twenty roundings.
        np.testing.assert_allclose(batch[i], alone, rtol=0, atol=9 * 20 * 80 * 2.3e-16)
        assert count == counts[i]


def test_arrivals_beyond_the_last_are_the_last():
    model = OpenModel(MASS, np.array([[1.0, 0.0], [2.0, 3.0]]))
    for n, wanted in ((0, [1, 0]), (1, [2, 3]), (7, [2, 3])):
        _, flows = jitted(model, EMPTY._replace(iteration=jnp.int32(n)))
        assert flows.arrived.tolist() == wanted


@pytest.mark.parametrize(
    "selection", ["queued", pytest.param("shares", marks=pytest.mark.thorough)]
)
def test_derivatives_are_those_of_differences(selection):
    """By rates, caps and capacity, over 15 iterations, where the front of each stays the same."""
    scale = jnp.array([[1.0, 1.1, 0.7, 1.3, 0.9]] * 2)

    def held(numbers, cap, class_cap):
        rates, limits, capacity = numbers[:2], numbers[2:4], numbers[4]
        model = OpenModel(
            replace(MASS, capacity=60 * capacity),
            rates,
            cap + limits[0],
            class_cap + limits[1],
            selection=selection,
        )
        begun = OpenState(np.where(MASS.weights > 0, 2.0, 0.0), jnp.array([0.3, 0.6]))
        run = rollout(model, begun, 15, observe=Fronts(), step=open_step, every=1)
        masses, queue, _ = run.state
        value = jnp.sum(masses * scale) + jnp.sum(queue * scale[0, :2]) ** 2 / 100
        return value, run.observed

    slopes = jax.jit(jax.grad(held, has_aux=True))
    values_at = jax.jit(jax.vmap(held, (0, None, None)))
    at, width = np.array([*RATES, 0.0, 0.0, 1.0]), 1e-6
    shifted = at + width * np.concatenate([np.eye(5), -np.eye(5)])
    without, by_class = np.full(2, np.inf), np.array([1.3, 2.9])
    for cap, class_cap in ((3.7, without), (np.inf, by_class), (3.7, by_class), (np.inf, without)):
        slope, fronts = slopes(at, cap, class_cap)
        values, theirs = values_at(shifted, cap, class_cap)
        assert np.array_equal(theirs, np.broadcast_to(fronts, theirs.shape))
        # Values below 1,000, rounded to 1e-13, over 2e-6; the second derivative of the rest is
        # bounded.
        differences = (values[:5] - values[5:]) / (2 * width)
        np.testing.assert_allclose(slope, differences, rtol=1e-6, atol=1e-6)
        moves = [True, True, np.isfinite(cap), not np.all(np.isinf(class_cap)), True]
        assert np.all((np.abs(slope) > 1e-3) <= moves)
        assert abs(slope[0]) > 1e-3
        assert (max(fronts) > 0) == (np.isinf(cap) and np.all(np.isinf(class_cap)))


@pytest.mark.parametrize(
    ("model", "state", "named"),
    [
        (OpenModel(MASS, np.ones(3)), EMPTY, "rates"),
        (OpenModel(MASS, RATES), EMPTY._replace(masses=np.zeros((3, 2, 5))), "masses"),
        (OpenModel(MASS, RATES), EMPTY._replace(queue=np.zeros(3)), "queue"),
        (OpenModel(MASS, RATES), EMPTY._replace(masses=np.zeros((2, 5), np.float32)), "masses"),
        (OpenModel(MASS.with_capacity([60, 70]), RATES), EMPTY, "model"),
        (OpenModel(MASS, RATES), EMPTY._replace(queue=None), "queue"),
        (OpenModel(MASS, np.ones((2, 3, 2))), EMPTY, "rates"),
        (OpenModel(MASS, RATES, cap=RATES), EMPTY, "cap"),
        (OpenModel(MASS, RATES, class_cap=np.ones(3)), EMPTY, "class_cap"),
    ],
)
def test_shapes_and_types_are_named_while_tracing(model, state, named):
    with pytest.raises(InputError, match=f"^{named}: "):
        jitted(model, state)


def test_a_rule_that_is_none_is_named():
    with pytest.raises(InputError, match="selection: got 'fifo'; allowed: queued or shares"):
        OpenModel(MASS, RATES, selection="fifo")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="names: got 'latency'"):
        Windows(("latency",))
