"""Batches of rollouts of the mass map: what `simulate` computes where it computes every stage.

Blocks of trajectories go to all devices of this host (`runs.devices`); a long run is cut into calls
between which an interrupt counts. Checks nothing.
"""

import math
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


def roll(
    model: MassModel,
    start: Float[np.ndarray, "system batch class stage"],
    iterations: int,
    record: tuple[str, ...],
    every: int,
) -> Rolled:
    """Trajectories of the systems of a model, `states.lifted`, from starts of each."""
    systems, batch, *_ = start.shape
    platform = local_devices()[0].platform
    masses, windows = math.prod(start.shape[2:]), iterations // every if record else 0
    numbers = masses * (1 + windows * ("state" in record)) + windows * len(record)
    most = power_of_two(min(_LANES.get(platform, _MANY_LANES), _NUMBERS // numbers), _FEWEST)
    size = min(power_of_two(batch, _FEWEST), most)  # of a group of trajectories of one system
    groups = -(-batch // size)
    places = np.arange(groups * size) % batch

    def grouped(values: np.ndarray) -> np.ndarray:
        return values[:, places].reshape(systems * groups, size, *values.shape[2:])

    capacity = grouped(np.broadcast_to(model.capacity, (systems, batch))).astype(model.precision)
    each = jax.tree.map(lambda values: np.repeat(values, groups, axis=0), model)
    models, state = replace(each, capacity=capacity), grouped(start).astype(model.precision)
    longest = _CALL.get(platform, _LONG_CALL) // state.size
    longest = every * max(1, longest // every) if record else max(1, longest)
    parts = []
    for done in range(0, iterations, longest):
        count = min(longest, iterations - done)

        def call(values: tuple[MassModel, np.ndarray], count: int = count) -> Rolled:
            return _roll(*values, count, record, every)

        with in_float64():
            state, records = over_devices(
                call, (models, state), axes=0, found_axes=0, lanes=most // size
            )
        parts.append(records)

    def apart(values: np.ndarray) -> np.ndarray:
        return values.reshape(systems, groups * size, *values.shape[2:])[:, :batch]

    joined = {name: np.concatenate([part[name] for part in parts], axis=2) for name in record}
    return apart(state), {name: apart(values) for name, values in joined.items()}


@partial(jax.jit, static_argnums=(2, 3, 4))
def _roll(models, start, iterations, record, every):
    """A capacity for each trajectory."""
    return jax.vmap(lambda model, states: _roll_one(model, states, iterations, record, every))(
        models, start
    )


def _roll_one(model, start, iterations, record, every):
    def one(capacity, state):
        at = replace(model, capacity=capacity)
        observe = Windows(record) if record else None
        run = rollout(at, state, iterations, observe=observe, every=every if record else None)
        return run.state, run.observed or {}

    # The batch is contiguous: what is sequential over stages is a short loop of long vectors.
    last = jax.vmap(one, in_axes=(0, -1), out_axes=-1)(model.capacity, jnp.moveaxis(start, 0, -1))
    return jax.tree.map(lambda values: jnp.moveaxis(values, -1, 0), last)
