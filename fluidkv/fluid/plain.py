"""Batches of rollouts of the mass map: what `simulate` computes where it computes every stage.

Blocks of trajectories go to all devices of this host (`runs.devices`); a long run is cut into calls
between which an interrupt counts. Checks nothing.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from fluidkv.fluid.driver import rollout
from fluidkv.fluid.model import MassModel
from fluidkv.fluid.observers import Windows
from fluidkv.runs.batch import power_of_two
from fluidkv.runs.devices import local_devices, over_devices
from fluidkv.runs.precision import in_float64

Rolled = tuple[np.ndarray, dict[str, np.ndarray]]
"""Final states, and records by name with windows behind the axes of the batch."""

_LANES = {"cpu": 1024}  # trajectories of a block: more would leave the cache of a core
_MANY_LANES = 1 << 17
_NUMBERS = 1 << 28  # of a block, records and all: 2 GB
# Masses times iterations of a call: below a second on a CPU.
_CALL = {"cpu": 1 << 28}
_LONG_CALL = 1 << 36
_FEWEST = 8  # a compiled loop in vectors; alone, a trajectory would be rounded in another way


def roll_batch(
    model: MassModel,
    start: Float[np.ndarray, "batch class stage"],
    iterations: int,
    record: tuple[str, ...],
    every: int,
) -> Rolled:
    """Trajectories of one model; its capacity may be one a trajectory."""
    batch = len(start)
    filled = np.resize(start, (max(batch, _FEWEST), *start.shape[1:])).astype(model.precision)
    capacity = np.resize(model.capacity, len(filled)).astype(model.precision)

    def run(states: np.ndarray, count: int) -> Rolled:
        def call(values: tuple[np.ndarray, np.ndarray]) -> Rolled:
            at = replace(model, capacity=values[1])
            return _roll(at, values[0], count, record, every)

        return _on_devices(call, (states, capacity), 1, states[0].size, count, record, every)

    final, records = _in_calls(run, filled, iterations, record, every)
    return final[:batch], {name: values[:batch] for name, values in records.items()}


def roll_systems(
    models: MassModel,
    start: Float[np.ndarray, "system batch class stage"],
    iterations: int,
    record: tuple[str, ...],
    every: int,
) -> Rolled:
    """Trajectories of many systems: a model with a leading axis, or starts that serve them all."""
    batch = start.shape[1]
    places = np.arange(max(batch, _FEWEST)) % batch
    start = start[:, places]
    start = np.broadcast_to(start, (len(models.weights), *start.shape[1:]))
    capacities = np.repeat(models.capacity[:, None], len(places), axis=1)
    placed = replace(models, capacity=capacities)

    def run(states: np.ndarray, count: int) -> Rolled:
        def call(values: tuple[MassModel, np.ndarray]) -> Rolled:
            return _roll_systems(*values, count, record, every)

        together, numbers = states.shape[1], states[0, 0].size
        return _on_devices(call, (placed, states), together, numbers, count, record, every)

    final, records = _in_calls(run, start, iterations, record, every)
    return final[:, :batch], {name: values[:, :batch] for name, values in records.items()}


@partial(jax.jit, static_argnums=(2, 3, 4))
def _roll(model, start, iterations, record, every):
    """A capacity for each trajectory."""

    def one(capacity, state):
        at = replace(model, capacity=capacity)
        observe = Windows(record) if record else None
        run = rollout(at, state, iterations, observe=observe, every=every if record else None)
        return run.state, run.observed or {}

    # The batch is contiguous: what is sequential over stages is a short loop of long vectors.
    last = jax.vmap(one, in_axes=(0, -1), out_axes=-1)(model.capacity, jnp.moveaxis(start, 0, -1))
    return jax.tree.map(lambda values: jnp.moveaxis(values, -1, 0), last)


@partial(jax.jit, static_argnums=(2, 3, 4))
def _roll_systems(models, start, iterations, record, every):
    return jax.vmap(lambda model, states: _roll(model, states, iterations, record, every))(
        models, start
    )


def _on_devices(
    call: Callable,
    values: tuple,
    together: int,
    numbers: int,
    iterations: int,
    record: tuple[str, ...],
    every: int,
) -> Rolled:
    """In blocks of the leading axis, each of which is so many trajectories of so many masses."""
    windows = iterations // every if record else 0
    each = numbers * (1 + windows * ("state" in record)) + windows * len(record)
    lanes = _LANES.get(local_devices()[0].platform, _MANY_LANES)
    lanes = power_of_two(max(1, min(lanes, _NUMBERS // each) // together))
    with in_float64():
        return over_devices(call, values, axes=0, found_axes=0, lanes=lanes)


def _in_calls(
    run: Callable[[np.ndarray, int], Rolled],
    start: np.ndarray,
    iterations: int,
    record: tuple[str, ...],
    every: int,
) -> Rolled:
    """One call after the other, of whole windows."""
    most = _CALL.get(local_devices()[0].platform, _LONG_CALL) // start.size
    most = every * max(1, most // every) if record else max(1, most)
    parts = []
    for done in range(0, iterations, most):
        start, records = run(start, min(most, iterations - done))
        parts.append(records)
    axis = start.ndim - 2  # of windows: behind those of batches
    return start, {name: np.concatenate([part[name] for part in parts], axis) for name in record}
