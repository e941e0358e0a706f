"""The plain map, iterated in JAX: all stages in each iteration, one model or many side by side.

`scan_trajectory` is the pure function, for engines and benchmarks. `scan_batch` and `scan_systems`
run it over batches of any size and any number of iterations with few compilations: a batch is cut
into blocks and filled up, windows beyond the last one are passed over, and how many iterations a
window has is an argument. The shapes of a sweep of systems are those of its longest one; what a
shorter one does not have weighs nothing and holds nothing.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from fluidkv.fluid import iteration
from fluidkv.fluid.iteration import State, Step
from fluidkv.fluid.model import MassModel
from fluidkv.runs.batch import power_of_two
from fluidkv.runs.devices import local_devices, over_devices
from fluidkv.runs.precision import in_float64

# A flow is summed over the iterations of a window; a level is read at the window's end.
_FLOWS: dict[str, Callable[[MassModel, Step], Array]] = {
    "admitted": lambda model, step: step.admitted,
    "completed": iteration.completed,
    "evicted": iteration.evicted,
}
_LEVELS: dict[str, Callable[[MassModel, State], Array]] = {
    "memory": iteration.memory_used,
    "in_flight": iteration.in_flight,
    "empty_stages": lambda model, state: iteration.empty_stages(state) - _missing_stages(model),
    "state": lambda model, state: state,
}

_LANES = {"cpu": 1024}  # trajectories at a time: more would leave the cache of a core
_MANY_LANES = 1 << 17
_NUMBERS = 1 << 28  # of a block, records and all: 2 GB
_CALL = {
    "cpu": 1 << 28
}  # masses times iterations of a call, below a second: an interrupt counts then
_LONG_CALL = 1 << 36
_FEWEST = 8  # a compiled loop in vectors; alone, a trajectory would be rounded in another way

Found = tuple[np.ndarray, dict[str, np.ndarray]]
"""Final states and records, batch first, or system and batch first."""


def scan_trajectory(
    model: MassModel,
    state: State,
    iterations: int,
    record: tuple[str, ...] = (),
    every: int = 1,
) -> tuple[State, dict[str, Float[Array, " window ..."]]]:
    """The engine: final state and records, in the engine's index order (stage, class, batch).

    Pure; `iterations`, `record` and `every` are static. Checks nothing. Call it under
    `in_float64`.

    Examples:
        >>> from fluidkv.fluid import scan_trajectory
        >>> from fluidkv.runs.precision import in_float64
        >>> model = fk.class_model(fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24))
        >>> with in_float64():
        ...     state, _ = scan_trajectory(model, np.array([[[8.0]], [[0.0]], [[0.0]]]), 1)
        >>> np.asarray(state).ravel()
        array([0., 6., 0.])
    """

    def window(state: State, _: None) -> tuple[State, dict[str, Array]]:
        return _window(model, state, record, every)

    return lax.scan(window, state, None, length=iterations // every)


def scan_batch(
    model: MassModel,
    start: Float[np.ndarray, "batch class stage"],
    iterations: int,
    record: tuple[str, ...],
    every: int,
) -> Found:
    """Trajectories of one model; `capacity` may be one a trajectory."""

    def run(start: np.ndarray, iterations: int) -> Found:
        return _batch_in_one_call(model, start, iterations, record, every)

    lanes = min(len(start), _most_lanes())
    return _in_calls(run, start, iterations, record, every, lanes * start[0].size)


def _batch_in_one_call(
    model: MassModel,
    start: Float[np.ndarray, "batch class stage"],
    iterations: int,
    record: tuple[str, ...],
    every: int,
) -> Found:
    windows, each, slots = _slots(iterations, record, every)
    swept = model.capacity.ndim == 1
    batch = len(start)
    if batch < _FEWEST:
        start = np.resize(start, (_FEWEST, *start.shape[1:]))
    capacity = np.resize(model.capacity, len(start)) if swept else model.capacity

    def call(values: Any) -> Any:
        state, *own = values
        placed = MassModel(
            model.weights, model.survival, model.shares, own[0] if swept else capacity
        )
        return _scan_batch(placed, state, windows, each, slots, record)

    values = (start, capacity) if swept else (start,)
    lanes = _lanes(1, start[0].size, slots, record)
    with in_float64():
        found = over_devices(call, values, axes=0, found_axes=0, lanes=lanes)
    return _cut(found, (slice(batch),), int(windows))


def scan_systems(
    model: MassModel,
    start: Float[np.ndarray, "system batch class stage"],
    iterations: int,
    record: tuple[str, ...],
    every: int,
) -> Found:
    """Trajectories of many systems: a model with a leading axis, or starts that serve them all."""

    def run(start: np.ndarray, iterations: int) -> Found:
        return _systems_in_one_call(model, start, iterations, record, every)

    lanes = min(len(model.weights) * start.shape[1], _most_lanes())
    return _in_calls(run, start, iterations, record, every, lanes * start[0, 0].size)


def _systems_in_one_call(
    model: MassModel,
    start: Float[np.ndarray, "system batch class stage"],
    iterations: int,
    record: tuple[str, ...],
    every: int,
) -> Found:
    windows, each, slots = _slots(iterations, record, every)
    batch = start.shape[1]
    padded = np.arange(_few_sizes(max(batch, _FEWEST))) % batch
    start = np.broadcast_to(start[:, padded], (len(model.weights), len(padded), *start.shape[2:]))

    def call(values: Any) -> Any:
        return _scan_systems(*values, windows, each, slots, record)

    lanes = _lanes(len(padded), start[0, 0].size, slots, record)
    with in_float64():
        found = over_devices(call, (model, start), axes=0, found_axes=0, lanes=lanes)
    return _cut(found, (slice(None), slice(batch)), int(windows))


def _in_calls(
    run: Callable[[np.ndarray, int], Found],
    start: np.ndarray,
    iterations: int,
    record: tuple[str, ...],
    every: int,
    masses: int,
) -> Found:
    """One call after the other, of whole windows: between two an interrupt counts."""
    most = max(1, _CALL.get(local_devices()[0].platform, _LONG_CALL) // masses)
    if record:  # a power of two of windows, so that they fill what is compiled for them
        most = every * (power_of_two(most // every + 1) // 2 or 1)
    found = []
    for done in range(0, iterations, most):
        start, records = run(start, min(most, iterations - done))
        found.append(records)
    axis = start.ndim - 2  # of windows: behind those of batches
    return start, {name: np.concatenate([each[name] for each in found], axis) for name in record}


def _window(
    model: MassModel, state: State, record: tuple[str, ...], every: int | Array
) -> tuple[State, dict[str, Array]]:
    def one(state: State) -> tuple[State, dict[str, Array]]:
        step = iteration.iterate(model, state)
        return step.state, {name: _FLOWS[name](model, step) for name in record if name in _FLOWS}

    def more(_: Any, carry: tuple[State, dict[str, Array]]) -> tuple[State, dict[str, Array]]:
        state, sums = carry
        state, flows = one(state)
        return state, jax.tree.map(jnp.add, sums, flows)

    shapes = jax.eval_shape(one, state)[1]
    none = jax.tree.map(lambda flow: jnp.zeros(flow.shape, flow.dtype), shapes)
    state, flows = lax.fori_loop(0, every, more, (state, none))
    levels = {name: _LEVELS[name](model, state) for name in record if name in _LEVELS}
    return state, flows | levels


def _padded(
    model: MassModel,
    start: Float[Array, "batch class stage"],
    windows: Array,
    every: Array,
    slots: int,
    record: tuple[str, ...],
) -> tuple[Array, dict[str, Array]]:
    """`windows` windows of `every` iterations, in room for `slots` of them; batch first."""

    def nothing(state: State) -> tuple[State, dict[str, Array]]:
        shapes = jax.eval_shape(partial(_window, model, record=record, every=every), state)[1]
        return state, jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)

    def slot(state: State, place: Array) -> tuple[State, dict[str, Array]]:
        run = partial(_window, model, record=record, every=every)
        return lax.cond(place < windows, run, nothing, state)

    places = jnp.arange(slots, dtype=jnp.int32)
    final, records = lax.scan(slot, start.transpose(2, 1, 0), places)
    # Reversed: batch first. Then the window, which is first here, goes behind the batch.
    public = {name: jnp.moveaxis(v.transpose(), -1, 1) for name, v in records.items()}
    return final.transpose(2, 1, 0), public


@partial(jax.jit, static_argnums=(4, 5))
def _scan_batch(model, state, windows, every, slots, record):
    return _padded(model, state, windows, every, slots, record)


@partial(jax.jit, static_argnums=(4, 5))
def _scan_systems(model, state, windows, every, slots, record):
    def one(model, state):
        return _padded(model, state, windows, every, slots, record)

    return jax.vmap(one)(model, state)


def _slots(
    iterations: int, record: tuple[str, ...], every: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Windows, iterations of each, and the room for windows: one where nothing is recorded."""
    if not record:
        return np.asarray(1, np.int32), np.asarray(iterations, np.int32), 1
    windows = iterations // every
    return np.asarray(windows, np.int32), np.asarray(every, np.int32), power_of_two(windows)


def _lanes(batch: int, numbers: int, slots: int, record: tuple[str, ...]) -> int:
    """How many of the leading axis go together, each of `batch` states of so many numbers."""
    each = numbers * (1 + slots * ("state" in record)) + slots * len(record)
    return power_of_two(max(1, min(_most_lanes(), _NUMBERS // each) // batch))


def _most_lanes() -> int:
    return _LANES.get(local_devices()[0].platform, _MANY_LANES)


def _few_sizes(size: int) -> int:
    """Up to an eighth of a power of two: 101 is as 100, and no more than a quarter is wasted."""
    step = max(1, power_of_two(size) // 8)
    return -(-size // step) * step


def _cut(found: Any, batch: tuple[slice, ...], windows: int) -> Found:
    final, records = found
    at = (*batch, slice(windows))
    return final[batch], {name: values[at] for name, values in records.items()}


def _missing_stages(model: MassModel) -> Array:
    """Stages that no class has: of systems shorter than others beside them."""
    missing = jnp.all(jnp.asarray(model.weights) == 0, axis=0)
    return jnp.sum(jnp.where(missing, 1.0, 0.0))
