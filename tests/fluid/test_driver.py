"""One driver: what observers are shown, where it stops, and that JAX can transform it whole."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.exact import mass
from fluidkv.fluid import (
    Cycle,
    Evictions,
    Extremes,
    FirstEviction,
    MassModel,
    Observer,
    Total,
    Windows,
    class_model,
    cohort_model,
    open_step,
    rollout,
    step,
    uniform_starts,
)
from fluidkv.fluid.observers import Fronts, Settled
from fluidkv.fluid.open.iteration import OpenModel, OpenState
from fluidkv.workload import System, Workload
from tests.fluid.padded import padded, rectangle
from tests.strategies import systems_with_states

SMALL = System(Workload.from_lengths([(2, 3)]), 24)
STABLE = System(Workload.from_lengths([(20, 2), (20, 3)]), 1000)
START = np.array([4.0, 3.0, 0.0])


pytestmark = pytest.mark.usefixtures("in_64_bits")


class Seen(Observer):
    """The numbers of the iterations, in the order in which they were seen."""

    def init(self, model, state):
        return jnp.int32(0)

    def update(self, model, memory, transition):
        return memory * 10 + transition.iteration


WATCH = {
    "windows": Windows(("admitted", "completed", "evicted", "in_flight")),
    "evictions": Evictions(),
    "first": FirstEviction(),
}


@partial(jax.jit, static_argnums=2)
def observed(model, state, every):
    return rollout(model, state, 6, observe=WATCH, every=every)


@pytest.mark.thorough
@given(systems_with_states(), st.sampled_from([1, 3]))
def test_what_is_observed_is_what_the_reference_does(drawn, every):
    system, state = drawn
    run = observed(padded(class_model(system)), rectangle(state), every)
    steps = []
    for _ in range(6):
        steps.append(mass.iterate(system, state))
        state = steps[-1].state
    rows = len(system.workload.classes)
    sums = {
        "admitted": [[float(step.admitted[k]) for k in range(rows)] for step in steps],
        "completed": [[float(step.completed[k]) for k in range(rows)] for step in steps],
        "evicted": [[float(sum(step.evicted[k])) for k in range(rows)] for step in steps],
    }
    within = 1e-10 * float(system.capacity)
    for name, values in sums.items():
        wanted = np.array(values).reshape(6 // every, every, rows).sum(axis=1)
        assert np.abs(run.observed["windows"][name][:, :rows] - wanted).max() <= within
    last = steps[every - 1 :: every]
    flying = [[float(sum(step.state[k])) for k in range(rows)] for step in last]
    assert np.abs(run.observed["windows"]["in_flight"][:, :rows] - np.array(flying)).max() <= within
    lost = [float(sum(map(sum, step.evicted))) for step in steps]
    if not any(0 < each < within for each in lost) and 0.0 not in lost:  # no ties of rounding
        assert run.observed["evictions"] == 6
        assert run.observed["first"] == 1


def test_observers_see_each_iteration_once_and_in_order():
    model = cohort_model(SMALL)
    assert rollout(model, START, 4, observe=Seen(), every=2).observed == 1234
    structure = (Seen(), {"a": Evictions(), "b": (Fronts(),)})
    observed = rollout(model, START, 4, observe=structure, every=1).observed
    assert jax.tree.structure(observed) == jax.tree.structure((0, {"a": 0, "b": (0,)}))


def test_it_stops_at_the_end_of_the_window_in_which_all_have_seen_enough():
    model = cohort_model(SMALL)
    run = rollout(model, START, 40, observe=(FirstEviction(stops=True), Seen()), every=4)
    assert (run.iterations.item(), run.observed[0].item()) == (4, 1)
    both = (FirstEviction(stops=True), Cycle(1e-12))
    run = rollout(model, START, 40, observe=both, every=1)
    period, mark = run.observed[1]
    assert period == 3  # l1: the maximal-eviction cycle
    assert run.iterations == mark + period


def test_windows_that_were_not_reached_are_0():
    watch = (FirstEviction(stops=True), Windows(("memory",)))
    run = rollout(cohort_model(SMALL), START, 12, observe=watch, every=3)
    assert run.observed[1]["memory"].tolist() == [24.0, 0.0, 0.0, 0.0]


def test_of_a_batch_each_stops_where_it_would_alone():
    model = cohort_model(STABLE)
    starts = uniform_starts(jax.random.key(0), STABLE, count=20)

    def run(start):
        return rollout(model, start, 600, observe=Settled(1e-3), every=20)

    alone_run, together = jax.jit(run), jax.jit(jax.vmap(run))(starts)
    alone = [alone_run(start) for start in starts]
    assert together.iterations.tolist() == [each.iterations.item() for each in alone]
    assert together.observed.tolist() == [each.observed.item() for each in alone]
    assert len(set(together.iterations.tolist())) > 1


def test_the_waste_is_what_flowed_out_and_extremes_bound_every_state():
    model = cohort_model(SMALL)
    watch = {
        "waste": Total("evicted_tokens"),
        "range": Extremes("in_flight"),
        "all": Windows(("evicted_tokens", "in_flight")),
    }
    observed = rollout(model, START, 12, observe=watch, every=1).observed
    np.testing.assert_allclose(observed["waste"], observed["all"]["evicted_tokens"].sum())
    flying = np.asarray(observed["all"]["in_flight"])
    assert [x.item() for x in observed["range"]] == [flying.min(), flying.max()]


def test_a_rollout_is_differentiable_whole_and_the_derivative_is_a_difference():
    model = cohort_model(STABLE)

    def completed(capacity, start):
        watch = Total("completed")
        at = MassModel(model.weights, model.survival, model.shares, capacity)
        return rollout(at, start * capacity / 1000.0, 30, observe=watch).observed

    start = np.asarray(model.equilibrium()[0]) * np.array([1.1, 0.9, 1.0])
    start *= 1000.0 / (start @ model.weights[0])
    slope = jax.jit(jax.grad(completed))(1000.0, start)
    # Masses scale with capacity: the derivative is the value over the capacity.
    assert float(slope) == pytest.approx(float(completed(1000.0, start)) / 1000.0, rel=1e-9)


def test_a_map_of_ones_own_draws_by_iteration():
    def walk(model, state, key):
        move = model * jax.random.normal(key)
        return state + move, move

    key = jax.random.key(3)
    run = rollout(2.0, 0.0, 5, step=walk, key=key)
    moves = [2.0 * jax.random.normal(jax.random.fold_in(key, n)) for n in range(1, 6)]
    assert run.state == pytest.approx(sum(move.item() for move in moves), rel=1e-14)


def test_what_is_no_plan_is_refused_in_one_line():
    model = cohort_model(SMALL)
    with pytest.raises(InputError, match="iterations: got 0; allowed: an integer of at least 1"):
        rollout(model, START, 0)
    with pytest.raises(InputError, match=r"iterations: got .*; allowed: an integer"):
        jax.jit(lambda n: rollout(model, START, n))(3)
    with pytest.raises(InputError, match="iterations: got 10; allowed: a multiple of every=4"):
        rollout(model, START, 10, every=4)
    with pytest.raises(InputError, match="observe: got 'memory'; allowed: observers"):
        rollout(model, START, 10, observe="memory")
    with pytest.raises(InputError, match="names: got 'speed'; allowed: any of arrived"):
        Windows(("speed",))
    with pytest.raises(InputError, match="names: got 'evicted'; allowed: a sequence of names"):
        Windows("evicted")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="names: got "):
        Windows((["memory"],))  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="level: got 'speed'"):
        Extremes("speed")
    with pytest.raises(InputError, match="name: got 'memory'"):
        Total("memory")
    with pytest.raises(InputError, match="state: got 'shape"):
        jax.jit(lambda s: rollout(model, s, 3, step=step))(np.zeros(4))


def test_what_does_not_fit_the_map_is_refused_by_name():
    model, small = cohort_model(SMALL), class_model(SMALL)
    with pytest.raises(InputError, match="state: got"):
        rollout(model, [4.0, 3.0, 0.0], 6)
    with pytest.raises(InputError, match=r"step: got .*a pair"):
        rollout(model, START, 6, step=lambda model, state, key: state)
    opened = OpenModel(small, np.array([2.0])), OpenState(np.zeros((1, 3)), np.zeros(1))
    for watch in (Settled(0.1), Cycle(0.0)):
        with pytest.raises(InputError, match=r"observe: got .* of OpenState"):
            rollout(*opened, 4, step=open_step, observe=watch)
    for watch in (Windows(("queue",)), Windows(("lost",)), Total("arrived"), Extremes("queue")):
        with pytest.raises(InputError, match=r"observe: got '\w+'; allowed: what the \w+ of its"):
            rollout(model, START, 4, observe=watch)
    wrong: list[Any] = [-1.0, "a", None]
    for within in wrong:
        with pytest.raises(InputError, match="within: got"):
            Settled(within)
    queue = opened[1]._replace(queue=np.zeros(1, int))
    with pytest.raises(InputError, match="queue: got 'numbers of int"):
        open_step(opened[0], queue)


@pytest.mark.parametrize("key", [3, "0", jax.random.split(jax.random.key(0), 2)])
def test_a_key_that_is_none_is_named(key: object) -> None:
    with pytest.raises(InputError, match=r"key: got .*; allowed: a JAX random key"):
        rollout(None, jnp.zeros(()), 2, step=lambda _, state, key: (state, None), key=key)  # pyright: ignore[reportArgumentType]
