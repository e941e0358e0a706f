"""The mass map: one iteration of one trajectory of the saturated model, as a pure JAX function.

Execute, arrive, evict, admit are four functions that `step` calls in that order. Shapes are static
and no value is looked at, so `step` works under `jit`, `vmap` (over starts, capacities, systems),
`grad`, `jacobian`, `lax.scan` and `jax.shard_map`; a batch is `jax.vmap`. Eviction, the one part in
which a stage depends on others, runs over the stages in one loop on a CPU, and as a tree of sums
elsewhere; the two differ by rounding.

The map is differentiable wherever the *front*, the stage that eviction trims, does not change with
the perturbation; at a change of front derivatives are one-sided.

Source: Congestion, section 2.2 in the continuous form of 2.3, admission of 4.1.
"""

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from fluidkv.errors import InputError
from fluidkv.fluid.model import MassModel, as_array, check_precision
from fluidkv.runs.devices import vary_like

State = Float[Array, "*class stage"] | Float[np.ndarray, "*class stage"]
"""Masses of one trajectory: by class of a class model, by age of a cohort model."""

NO_FRONT = -1
"""The front of an iteration that evicts nothing."""


class Flows(NamedTuple):
    """What one iteration moved, of any map of this package.

    Fields, requests one a class, or one number for a state (stage,):
        admitted: requests that entered stage 0.
        completed: requests that left from their last stage.
        evicted: requests that eviction removed.
        evicted_tokens: tokens of KV cache that went with them.
        front: the stage that eviction trimmed, below which nothing is left; `NO_FRONT` where
            memory sufficed.
        arrived: requests that joined the queue; this and what follows of open arrivals only.
        lost: requests that left without being served.
        executed_memory: after execution and before eviction, tokens.

    Examples:
        >>> from fluidkv.fluid.mass_map import Flows
        >>> Flows._fields[:5]
        ('admitted', 'completed', 'evicted', 'evicted_tokens', 'front')
    """

    admitted: Float[Array, "*class"]
    completed: Float[Array, "*class"]
    evicted: Float[Array, "*class"]
    evicted_tokens: Float[Array, ""]
    front: Int[Array, ""]
    arrived: Float[Array, " class"] | None = None
    lost: Float[Array, " class"] | None = None
    executed_memory: Float[Array, ""] | None = None


def step(model: MassModel, state: State, key: Array | None = None) -> tuple[State, Flows]:
    """One decoding iteration of one trajectory.

    Args:
        model: from `class_model`, `cohort_model` or `MassModel.from_lengths`, with one capacity.
        state: masses of shape (class, stage), or (stage,) for a model of one row; memory at or
            below capacity.
        key: not used, as nothing is drawn; every step of this package takes one.

    Returns:
        The state after admission, on the memory boundary, and what moved.

    Raises:
        InputError: while tracing, on a shape that is not the model's, or on float32, where nobody
            chose it (see `MassModel.in_float32`).

    Source: Congestion, equation (1) with the admission of section 4.1.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import step
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> model = fk.cohort_model(system)
        >>> with jax.enable_x64(True):
        ...     state, flows = jax.jit(step)(model, np.array([4.0, 3.0, 0.0]))
        >>> np.round(state, 6).tolist(), round(flows.evicted.item(), 6), flows.front.item()
        ([0.0, 2.25, 3.0], 1.75, 1)
    """
    state = as_array(state, "state")
    masses = jnp.atleast_2d(state)
    _check(model, state, masses)
    executed = execute(model, masses)
    waiting = arrive()
    remaining, free, evicted = evict(model, executed)
    after, admitted = admit(model, remaining, free, waiting)
    by_row = state.shape[:-1]  # one number for a state (stage,)
    flows = Flows(
        admitted=admitted.reshape(by_row),
        completed=completed(model, masses).reshape(by_row),
        evicted=evicted.requests.reshape(by_row),
        evicted_tokens=evicted.tokens,
        front=evicted.front,
    )
    return after.reshape(state.shape), flows


def execute(model: MassModel, masses: Float[Array, "class stage"]) -> Float[Array, "class stage"]:
    """Shift by one stage; mass that has no next stage has completed."""
    shifted = jnp.concatenate([jnp.zeros_like(masses[:, :1]), masses[:, :-1]], axis=1)
    return jnp.where(jnp.asarray(model.weights) > 0, shifted, 0.0)


def arrive() -> float:
    """Units of admission that wait. Saturated: the queue never empties (section 2.3)."""
    return math.inf


class Evicted(NamedTuple):
    """What eviction removed: requests of each row, their tokens, and the front."""

    requests: Float[Array, " class"]
    tokens: Float[Array, ""]
    front: Int[Array, ""]


def evict(
    model: MassModel, executed: Float[Array, "class stage"]
) -> tuple[Float[Array, "class stage"], Float[Array, ""], Evicted]:
    """Least progressed first, said the other way round: the most progressed stages stay.

    A stage stays whole if it and all later ones fit. The last one that does not fit is the front:
    it gets the room that later stages leave, the same fraction for every class; stages below it
    get nothing.

    This is the one place where the boundaries are decided. A stage that needs exactly the room that
    is left stays whole. Where there is a front, what is free is exactly 0.0, so that emptied stages
    and the admission of this iteration are exactly 0.0 and not of the size of a rounding error: an
    empty stage can be told from a nearly empty one.

    Returns:
        The masses that stay, the free memory in tokens, and what is gone.
    """
    arrays = jnp.asarray(model.weights), jnp.asarray(model.survival), jnp.asarray(model.capacity)
    return lax.platform_dependent(
        executed, *arrays, cpu=_stage_by_stage, default=_all_stages_at_once
    )


def _stage_by_stage(
    executed: Array, weights: Array, survival: Array, capacity: Array
) -> tuple[Array, Array, Evicted]:
    """For a CPU: one loop from the last stage on, which hands out what is left, and adds up."""

    def stage(left: tuple[Array, Evicted], row: tuple[Array, ...]) -> tuple[Any, Array]:
        (free, (requests, tokens, front)), (mass, weight, alive, place) = left, row
        needed = jnp.sum(mass * weight)
        trimmed = needed > free
        fraction = jnp.where(trimmed, free / jnp.where(trimmed, needed, 1.0), 1.0)
        remaining = mass * fraction
        gone = mass - remaining
        front = jnp.maximum(front, jnp.where(trimmed, place, NO_FRONT))
        evicted = Evicted(requests + alive * gone, tokens + jnp.sum(weight * gone), front)
        return (jnp.maximum(free - needed, 0.0), evicted), remaining

    nothing = Evicted(jnp.zeros_like(executed[:, 0]), jnp.zeros_like(capacity), jnp.int32(NO_FRONT))
    begun = vary_like((capacity, nothing), (executed, weights, survival, capacity))
    places = jnp.arange(executed.shape[1], dtype=jnp.int32)
    rows = executed.T, weights.T, survival.T, places
    (free, evicted), remaining = lax.scan(stage, begun, rows, reverse=True)
    return remaining.T, free, evicted


def _all_stages_at_once(
    executed: Array, weights: Array, survival: Array, capacity: Array
) -> tuple[Array, Array, Evicted]:
    """For an accelerator: sums over later stages as a tree, in logarithmic depth."""
    needed = jnp.sum(executed * weights, axis=0)
    from_here_on = lax.cumsum(needed, reverse=True)
    later = jnp.concatenate([from_here_on[1:], jnp.zeros_like(needed[:1])])
    room = jnp.maximum(capacity - later, 0.0)
    stage = jnp.arange(needed.size, dtype=jnp.int32)
    trimmed = needed > room
    front = jnp.max(jnp.where(trimmed, stage, NO_FRONT))
    part = jnp.where(trimmed, room / jnp.where(trimmed, needed, 1.0), 1.0)
    fraction = jnp.where(stage > front, 1.0, jnp.where(stage == front, part, 0.0))
    remaining = executed * fraction[None]
    gone = executed - remaining
    evicted = Evicted(jnp.sum(survival * gone, axis=1), jnp.sum(weights * gone), front)
    free = jnp.maximum(capacity - from_here_on[0], 0.0)
    return remaining, jnp.where(front == NO_FRONT, free, 0.0), evicted


def admit(
    model: MassModel,
    remaining: Float[Array, "class stage"],
    free: Float[Array, ""],
    waiting: float | Float[Array, ""],
) -> tuple[Float[Array, "class stage"], Float[Array, " class"]]:
    """Fill the free memory at stage 0, in proportions p_k, as far as there is work waiting."""
    shares = jnp.asarray(model.shares)
    cost = jnp.sum(shares * jnp.asarray(model.weights)[:, 0])
    admitted = shares * jnp.minimum(free / cost, waiting)
    return remaining.at[:, 0].set(admitted), admitted


def completed(model: MassModel, masses: Float[Array, "class stage"]) -> Float[Array, " class"]:
    """Requests that the next execution completes, each row."""
    survival = jnp.asarray(model.survival)
    after = jnp.concatenate([survival[:, 1:], jnp.zeros_like(survival[:, :1])], axis=1)
    return jnp.sum((survival - after) * masses, axis=1)


def in_flight(model: MassModel, masses: Float[Array, "class stage"]) -> Float[Array, " class"]:
    """Requests running, each row."""
    return jnp.sum(jnp.atleast_2d(jnp.asarray(model.survival)) * masses, axis=1)


def memory_used(model: MassModel, masses: Float[Array, "class stage"]) -> Float[Array, ""]:
    """Sum of w_ks x_ks, tokens."""
    return jnp.sum(jnp.atleast_2d(jnp.asarray(model.weights)) * masses)


def empty_stages(model: MassModel, masses: Float[Array, "class stage"]) -> Float[Array, ""]:
    """Stages of the model in which no row has mass: the eviction level (section 3.2)."""
    exists = jnp.any(jnp.asarray(model.weights) > 0, axis=0)
    return jnp.sum(jnp.where(exists & jnp.all(masses == 0, axis=0), 1.0, 0.0))


def check_one(model: MassModel) -> None:
    """InputError for a model of several systems or capacities."""
    shape = jnp.shape(model.weights)
    if len(shape) != 2 or jnp.ndim(model.capacity):
        raise InputError(
            "model",
            f"weights {shape} and capacity {jnp.shape(model.capacity)}",
            "one system with one capacity; jax.vmap maps over several",
        )


def _check(model: MassModel, state: Array, masses: Array) -> None:
    """Shapes and types, which are known while tracing."""
    check_one(model)
    shape = jnp.shape(model.weights)
    if state.ndim not in (1, 2) or masses.shape != shape:
        allowed = f"{shape}, one trajectory by class and stage; jax.vmap maps over several"
        raise InputError("state", f"shape {state.shape}", allowed)
    check_precision(model.precision, state, "state")
