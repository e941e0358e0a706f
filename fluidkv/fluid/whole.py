"""Whole requests of one class in JAX: floor admission, whole eviction, int64, in batches.

A map of its own, not the mass model with rounding: see `fluidkv.exact.one_class.whole`, which it
equals step by step. `whole_step` is pure, of one trajectory, as `fluidkv.fluid.step` is of masses.

Source: Congestion, section 2.2 and Example 1.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import lax
from jaxtyping import Array, Int
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.batches import roll_map
from fluidkv.fluid.mass_map import NO_FRONT, Flows
from fluidkv.fluid.model import as_array, class_model
from fluidkv.fluid.recorded import labelled
from fluidkv.fluid.states import class_states
from fluidkv.labels import Column
from fluidkv.runs.checks import count
from fluidkv.workload import System


class WholeModel(NamedTuple):
    """One class: w_j of each stage and M, whole tokens.

    Examples:
        >>> from fluidkv.fluid.whole import WholeModel
        >>> WholeModel._fields
        ('weights', 'capacity')
    """

    weights: Int[Array, " stage"] | Int[np.ndarray, " stage"]
    capacity: int | Int[Array, ""] | Int[np.ndarray, ""]

    @property
    def survival(self) -> Int[Array, " stage"]:
        """Requests in a unit of the state, which counts requests: 1."""
        return jnp.ones_like(self.weights)


def whole_step(
    model: WholeModel, state: Int[Array, " stage"], key: Array | None = None
) -> tuple[Int[Array, " stage"], Flows]:
    """One decoding iteration of one trajectory of whole requests; pure.

    Args:
        state: requests by stage, integers; memory at or below capacity.
        key: not used, as nothing is drawn.

    Raises:
        InputError: while tracing, on shapes that do not fit, or numbers that are no integers.

    Examples:
        >>> from fluidkv.fluid.whole import whole_step
        >>> from fluidkv.fluid.whole import WholeModel
        >>> state, flows = whole_step(WholeModel(np.array([3, 4, 5]), 24), np.array([8, 0, 0]))
        >>> state.tolist(), flows.evicted.item()
        ([0, 6, 0], 2)
    """
    state, weights = as_array(state, "state"), as_array(model.weights, "model")
    _check(weights, as_array(model.capacity, "model"), state)
    # execute
    completed = state[-1]
    executed = jnp.concatenate([jnp.zeros_like(state[:1]), state[:-1]])
    excess = jnp.sum(weights * executed) - model.capacity

    # evict: from stage 1 up, whole stages while all of one has to go; of the next, the front, as
    # many as it takes, which may free more than was needed.
    def stage(left: tuple[Array, Array], row: tuple[Array, Array]) -> tuple[Any, Array]:
        (excess, going), needed = left, row[0] * row[1]
        whole = going & (needed <= excess)
        return (jnp.where(whole, excess - needed, excess), whole), whole

    rows = executed[1:], weights[1:]
    (excess, _), whole = lax.scan(stage, (excess, excess > 0), rows)
    front = jnp.arange(whole.size) == jnp.sum(whole)
    front_weight = jnp.sum(jnp.where(front, weights[1:], 0))
    trimmed = -(jnp.minimum(-excess, 0) // jnp.maximum(front_weight, 1))
    evicted = jnp.where(whole, executed[1:], jnp.where(front, trimmed, 0))
    excess = excess - trimmed * front_weight
    # admit
    admitted = -excess // weights[0]
    after = jnp.concatenate([admitted[None], executed[1:] - evicted])
    stages = jnp.arange(1, state.size, dtype=jnp.int32)  # the type of `NO_FRONT` in observers
    flows = Flows(
        admitted=admitted,
        completed=completed,
        evicted=jnp.sum(evicted),
        evicted_tokens=jnp.sum(weights[1:] * evicted),
        front=jnp.max(jnp.where(evicted > 0, stages, NO_FRONT), initial=NO_FRONT),
    )
    return after, flows


def simulate_whole(
    system: System,
    start: ArrayLike,
    *,
    iterations: int,
    capacity: ArrayLike | None = None,
    states: bool = False,
) -> xr.Dataset:
    """Iterate the saturated system with whole requests, from one start or from many.

    Args:
        system: one class.
        start: requests by stage, integers of shape (stage,) or (batch, stage); memory at or below
            capacity.
        iterations: at least 1.
        capacity: whole tokens, one for each trajectory, in place of the system's; one start then
            serves them all. Of a capacity that is not whole only the whole part can be used.
        states: record X^1 ... X^iterations as well.

    Returns:
        A dataset of int64 with dimensions batch, iteration (n of X^n), stage: admitted, completed,
        evicted and memory (batch, iteration), final_state (batch, stage), and with `states`
        state (batch, iteration, stage).

    Raises:
        InputError: more than one class; a start that is not of whole numbers of at least 0, one a
            stage, or needs more memory than there is; capacities that are not whole numbers above
            l0 + l1, or as many as the starts; iterations below 1.

    Examples:
        >>> from fluidkv.fluid import simulate_whole
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> found = simulate_whole(system, [8, 0, 0], iterations=6)
        >>> found.completed.values[0], found.final_state.values[0]
        (array([0, 0, 4, 0, 1, 4]), array([6, 0, 1]))
    """
    if len(system.workload.classes) != 1:
        raise InputError("system", f"{len(system.workload.classes)} classes", "one class")
    count("iterations", iterations)
    limits = _capacities(system, capacity)
    mass = class_model(system).with_capacity(limits)
    requests = class_states(mass, start)[:, 0].astype(np.int64)
    if np.asarray(start).dtype.kind not in "iu":
        raise InputError("start", start, "whole numbers of requests")
    batch = max(limits.size, len(requests))
    model = WholeModel(mass.weights[0].astype(np.int64), np.broadcast_to(limits, batch))
    state = np.broadcast_to(requests, (batch, requests.shape[1]))
    names = ("admitted", "completed", "evicted", "memory", *["state"] * states)
    final, records = roll_map(
        whole_step,
        model,
        state,
        lambda model, state: (model.capacity, state),
        iterations=int(iterations),
        record=names,
        every=1,
    )
    coords: dict[str, Column] = {}
    if capacity is not None:
        coords["capacity"] = "batch", model.capacity, "token", "M"
    of = system if capacity is None else None
    return labelled(records | {"final_state": final}, iterations, 1, of=of, coords=coords)


def _check(weights: Array, capacity: Array, state: Array) -> None:
    """What is known while tracing."""
    if weights.ndim != 1 or not weights.size or capacity.ndim:
        shapes = f"weights {weights.shape} and capacity {capacity.shape}"
        raise InputError("model", shapes, "weights (stage,) and one capacity; jax.vmap maps")
    if state.shape != weights.shape:
        allowed = f"{weights.shape}, one trajectory by stage; jax.vmap maps over several"
        raise InputError("state", f"shape {state.shape}", allowed)
    for name, values in (("model", weights), ("model", capacity), ("state", state)):
        if not jnp.issubdtype(values.dtype, jnp.integer):
            raise InputError(name, f"numbers of {values.dtype}", "integers")


def _capacities(system: System, capacity: ArrayLike | None) -> Int[np.ndarray, "*batch"]:
    if capacity is None:
        return np.asarray(system.capacity.numerator // system.capacity.denominator, np.int64)
    limits, least = np.asarray(capacity), system.workload.largest_footprint
    whole = limits.dtype.kind in "iu" and limits.ndim <= 1 and limits.size
    if not whole or limits.min() <= least:
        raise InputError("capacity", capacity, f"whole numbers of tokens above {least}")
    return limits.astype(np.int64)
