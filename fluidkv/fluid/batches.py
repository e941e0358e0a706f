"""A batch of rollouts of any map: in float64, in blocks of lanes over all devices of this host.

What the fronts of a map share. It checks nothing.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fluidkv.fluid.driver import Step, rollout
from fluidkv.fluid.observers import Windows
from fluidkv.runs.devices import over_devices
from fluidkv.runs.precision import in_float64


def roll_map(
    step: Step,
    model: Any,
    state: Any,
    varies: Callable[[Any, Any], tuple[Any, ...]],
    *,
    iterations: int,
    record: tuple[str, ...],
    every: int,
    lanes: int | None = None,
) -> tuple[Any, dict[str, np.ndarray]]:
    """The last states, and records by name with windows behind the axis of the batch.

    Args:
        step: the map.
        model, state: of all trajectories; what varies has the batch as its first axis.
        varies: which arrays of (model, state) do, as `equinox.tree_at` takes it.
        record: names out of `observers.QUANTITIES`.
        every: iterations of a window, which divides `iterations`.
        lanes: trajectories of a block, see `over_devices`.
    """
    both = (model, state)
    none = jax.tree.map(lambda _: False, both)
    varying = eqx.tree_at(lambda both: varies(*both), none, replace_fn=lambda _: True)
    own, shared = eqx.partition(both, varying)

    def call(values: Any) -> Any:
        return _rolled(values, shared, Windows(record), step, iterations, every)

    with in_float64():
        return over_devices(call, own, axes=0, found_axes=0, lanes=lanes)


@partial(jax.jit, static_argnums=(3, 4, 5))
def _rolled(own: Any, shared: Any, watch: Windows, step: Step, iterations: int, every: int) -> Any:
    def run(own: Any) -> Any:
        model, state = eqx.combine(own, shared)
        made = rollout(model, state, iterations, observe=watch, step=step, every=every)
        return made.state, made.observed

    # The batch is contiguous: what is sequential over stages is a short loop of long vectors.
    last = jax.tree.map(lambda values: jnp.moveaxis(values, 0, -1), own)
    rolled = jax.vmap(run, -1, out_axes=-1)(last)
    return jax.tree.map(lambda values: jnp.moveaxis(values, -1, 0), rolled)
