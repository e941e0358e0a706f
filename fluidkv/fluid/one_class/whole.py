"""Whole requests of one class in JAX: floor admission, whole eviction, int64, in batches.

A map of its own, not the mass model with rounding: see `fluidkv.exact.one_class.whole`, which it
equals step by step. `whole_step` is pure, of one trajectory, as `fluidkv.fluid.step` is of masses.

Source: Congestion, section 2.2 and Example 1.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import lax
from jaxtyping import Array, Int
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.driver import rollout
from fluidkv.fluid.observers import Windows
from fluidkv.labels import Column, dataset
from fluidkv.runs.checks import count
from fluidkv.runs.devices import over_devices
from fluidkv.runs.precision import in_float64
from fluidkv.workload import System

_RECORDS = {
    "admitted": ("request", "requests admitted"),
    "completed": ("request", "requests completed"),
    "evicted": ("request", "requests evicted"),
    "memory": ("token", "memory in use after admission"),
    "state": ("request", "requests by stage"),
    "final_state": ("request", "requests by stage"),
}


class WholeModel(NamedTuple):
    """One class: w_j of each stage and M, whole tokens.

    Examples:
        >>> from fluidkv.fluid import WholeModel
        >>> WholeModel._fields
        ('weights', 'capacity')
    """

    weights: Int[Array, " stage"] | Int[np.ndarray, " stage"]
    capacity: int | Int[Array, ""]


class WholeFlows(NamedTuple):
    """What one iteration moved, requests, and the memory in use after it, tokens."""

    admitted: Int[Array, ""]
    completed: Int[Array, ""]
    evicted: Int[Array, ""]
    memory: Int[Array, ""]


def whole_step(
    model: WholeModel, state: Int[Array, " stage"], key: Array | None = None
) -> tuple[Int[Array, " stage"], WholeFlows]:
    """One decoding iteration of one trajectory of whole requests; pure.

    Args:
        state: requests by stage, integers; memory at or below capacity.
        key: not used, as nothing is drawn.

    Raises:
        InputError: while tracing, on shapes that do not fit, or numbers that are no integers.

    Examples:
        >>> from fluidkv.fluid import WholeModel, whole_step
        >>> state, flows = whole_step(WholeModel(np.array([3, 4, 5]), 24), np.array([8, 0, 0]))
        >>> state.tolist(), flows.evicted.item()
        ([0, 6, 0], 2)
    """
    state, weights = jnp.asarray(state), jnp.asarray(model.weights)
    _check(weights, jnp.asarray(model.capacity), state)
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
    memory = jnp.sum(weights * after)
    return after, WholeFlows(admitted, completed, jnp.sum(evicted), memory)


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
    weights = _weights(system)
    count("iterations", iterations)
    limits = _checked_capacity(system, capacity)
    requests, limits = _checked_start(weights, start, limits)
    names = ("admitted", "completed", "evicted", "memory", *["state"] * states)

    def call(values: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
        return _rolled(weights, *values, int(iterations), names)

    with in_float64():
        records = over_devices(call, (limits, requests), axes=0, found_axes=0)
    variables: dict[str, Column] = {}
    for name, values in records.items():
        windows = () if name == "final_state" else ("iteration",)
        by_stage = ("stage",) if name.endswith("state") else ()
        variables[name] = (("batch", *windows, *by_stage), values, *_RECORDS[name])
    number = np.arange(1, iterations + 1)
    coords: dict[str, Column] = {
        "iteration": ("iteration", number, "iteration", "n of the state X^n")
    }
    if capacity is not None:
        coords["capacity"] = "batch", limits, "token", "M"
    return dataset(variables, coords, system=system if capacity is None else None)


@partial(jax.jit, static_argnums=(3, 4))
def _rolled(
    weights: Any, capacity: Any, requests: Any, iterations: int, names: tuple[str, ...]
) -> dict[str, Any]:
    """Records of a batch, which comes first, and the last states."""

    def run(capacity: Any, state: Any) -> dict[str, Any]:
        model, watch = WholeModel(weights, capacity), Windows(names)
        made = rollout(model, state, iterations, observe=watch, step=whole_step, every=1)
        return made.observed | {"final_state": made.state}

    return jax.vmap(run)(capacity, requests)


def _weights(system: System) -> Int[np.ndarray, " stage"]:
    classes = system.workload.classes
    if len(classes) != 1:
        raise InputError("system", f"{len(classes)} classes", "one class")
    return classes[0].input_length + 1 + np.arange(classes[0].decode_length, dtype=np.int64)


def _check(weights: Array, capacity: Array, state: Array) -> None:
    """What is known while tracing."""
    if weights.ndim != 1 or capacity.ndim:
        shapes = f"weights {weights.shape} and capacity {capacity.shape}"
        raise InputError("model", shapes, "weights (stage,) and one capacity; jax.vmap maps")
    if state.shape != weights.shape:
        allowed = f"{weights.shape}, one trajectory by stage; jax.vmap maps over several"
        raise InputError("state", f"shape {state.shape}", allowed)
    for name, values in (("model", weights), ("model", capacity), ("state", state)):
        if not jnp.issubdtype(values.dtype, jnp.integer):
            raise InputError(name, f"numbers of {values.dtype}", "integers")


def _checked_capacity(system: System, capacity: ArrayLike | None) -> np.ndarray:
    if capacity is None:
        return np.asarray(system.capacity.numerator // system.capacity.denominator, np.int64)
    values = np.asarray(capacity)
    least = system.workload.largest_footprint
    if (
        values.ndim > 1
        or values.size == 0
        or values.dtype.kind not in "iu"
        or values.min() <= least
    ):
        raise InputError("capacity", capacity, f"whole numbers of tokens above {least}")
    return values.astype(np.int64)


def _checked_start(
    weights: np.ndarray, start: ArrayLike, limits: np.ndarray
) -> tuple[Int[np.ndarray, "batch stage"], Int[np.ndarray, " batch"]]:
    """Starts and capacities, as many of one as of the other."""
    allowed = f"whole numbers of requests of shape ({weights.size},), one a stage, or a batch"
    try:
        requests = np.asarray(start)
    except ValueError:
        raise InputError("start", start, allowed) from None
    shaped = requests.ndim in (1, 2) and requests.shape[-1] == weights.size and requests.size > 0
    if requests.dtype.kind not in "iu" or not shaped:
        raise InputError("start", start, allowed)
    requests = requests.reshape(-1, weights.size).astype(np.int64)
    if limits.ndim and len(requests) == 1:
        requests = np.broadcast_to(requests, (limits.size, weights.size))
    if limits.ndim and limits.size != len(requests):
        raise InputError("start", f"{len(requests)} trajectories", f"{limits.size}, as capacities")
    limits = np.broadcast_to(limits, len(requests))
    if requests.min() < 0:
        raise InputError("start", int(requests.min()), "at least 0 requests at each stage")
    over = requests @ weights - limits
    if over.max() > 0:
        worst = int(np.argmax(over))
        used = int(limits[worst] + over[worst])
        raise InputError("start", f"memory {used}", f"at most {int(limits[worst])} tokens")
    return requests, limits
