"""One iteration of the saturated mass model: execute, arrive, evict, admit. Pure JAX.

Inside the engine arrays run (stage, class, batch). Batch comes last, so that it is contiguous:
what is sequential over stages is then a short loop of long vector operations. On a CPU, with 4,096
trajectories of 40 stages, the loop in `evict` was faster than `cumsum` over a leading or a
contiguous stage axis and than an associative scan; a product with a triangular matrix was as fast,
but its cost grows with the square of the stages. Unrolling the loop made it slower.
`benchmarks/engine.py` times the result.

Every function expects float64 arrays, that is a call under `in_float64`; `simulate`
sees to it.

Source: Congestion, section 2.2 in the continuous form of 2.3, admission of 4.1.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from fluidkv.fluid.model import MassModel

State = Float[Array, "stage class batch"]
"""Mass of each row at each stage, on the memory boundary after every iteration."""


class Step(NamedTuple):
    """What happened in one iteration; what nobody reads is never computed (XLA drops it).

    Fields:
        before: state at the start of the iteration.
        executed: masses after execution.
        kept: masses after eviction.
        admitted: mass that entered stage 0, each row.
        state: masses after admission.
    """

    before: State
    executed: State
    kept: State
    admitted: Float[Array, "class batch"]
    state: State


def iterate(model: MassModel, state: State) -> Step:
    """One decoding iteration."""
    executed = execute(model, state)
    waiting = arrive()
    kept, free = evict(model, executed)
    after, admitted = admit(model, kept, free, waiting)
    return Step(state, executed, kept, admitted, after)


def execute(model: MassModel, state: State) -> State:
    """Shift by one stage; mass that has no next stage has completed."""
    exists = (jnp.asarray(model.weights).T > 0)[..., None]
    shifted = jnp.concatenate([jnp.zeros_like(state[:1]), state[:-1]])
    return jnp.where(exists, shifted, 0.0)


def arrive() -> float:
    """Units of admission that wait. Saturated: the queue never empties (section 2.3)."""
    return math.inf


def evict(model: MassModel, executed: State) -> tuple[State, Float[Array, " batch"]]:
    """Least progressed first, said the other way round: the most progressed stages stay.

    Capacity is handed out from the last stage to stage 0. A stage takes what it needs; the first
    one that needs more than is left keeps the fraction that fits, the same for every class, and
    the stages below it get nothing. What is left in the end is free for admission.

    This is the one place where the boundaries are decided. A stage that needs exactly what is left
    stays whole. Once memory is full, `free` is exactly 0.0, so that emptied stages, and the
    admission of this iteration, are exactly 0.0 and not of the size of a rounding error: an empty
    stage can be told from a nearly empty one.

    Returns:
        The masses that stay, and the free memory in tokens.
    """
    weights = jnp.asarray(model.weights).T
    free = jnp.broadcast_to(jnp.asarray(model.capacity), executed.shape[-1:])

    def stage(free, row):
        mass, weight = row
        needed = jnp.sum(mass * weight[:, None], axis=0)
        full = needed > free
        fraction = jnp.where(full, free / jnp.where(full, needed, 1.0), 1.0)
        return jnp.maximum(free - needed, 0.0), mass * fraction[None, :]

    free, kept = lax.scan(stage, free, (executed, weights), reverse=True)
    return kept, free


def admit(
    model: MassModel, kept: State, free: Float[Array, " batch"], waiting: float
) -> tuple[State, Float[Array, "class batch"]]:
    """Fill the free memory at stage 0, in proportions p_k, as far as there is work waiting."""
    shares = jnp.asarray(model.shares)
    cost = jnp.sum(shares * jnp.asarray(model.weights)[:, 0])
    admitted = shares[:, None] * jnp.minimum(free / cost, waiting)[None, :]
    return kept.at[0].set(admitted), admitted


def completed(model: MassModel, step: Step) -> Float[Array, "class batch"]:
    """Requests that finished in this iteration, each row."""
    survival = jnp.asarray(model.survival).T
    ending = survival - jnp.concatenate([survival[1:], jnp.zeros_like(survival[:1])])
    return jnp.einsum("sk,skb->kb", ending, step.before)


def evicted(model: MassModel, step: Step) -> Float[Array, "class batch"]:
    """Requests that eviction removed in this iteration, each row."""
    return in_flight(model, step.executed - step.kept)


def in_flight(model: MassModel, state: State) -> Float[Array, "class batch"]:
    """Requests running, each row."""
    return jnp.einsum("sk,skb->kb", jnp.asarray(model.survival).T, state)


def memory_used(model: MassModel, state: State) -> Float[Array, " batch"]:
    """Sum of w_ks x_ks, tokens."""
    return jnp.einsum("sk,skb->b", jnp.asarray(model.weights).T, state)


def empty_stages(state: State) -> Float[Array, " batch"]:
    """Stages in which no row has mass: the eviction level (Congestion, section 3.2)."""
    return jnp.sum(jnp.where(jnp.all(state == 0, axis=1), 1.0, 0.0), axis=0)
