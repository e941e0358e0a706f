"""One iteration of the open mass model: execute, arrive, evict, admit, with a queue. Pure JAX.

The saturated model of `iteration` with a queue of each class in place of an endless backlog;
`execute` and `evict` are the same. Arrays run (stage, class, batch), queues (class, batch).

Which classes are admitted when the queue does not hold all of them in proportions p_k, the paper
leaves open: it writes a_k = p_k a with a <= Q = sum of Q_k, which no queue with an empty class
allows. Two rules are offered (`Selection`):

    queued   a_k in proportion to what waits, theta Q_k. Whatever waits can be admitted, and from a
             queue in proportions p_k it is the paper's rule. What one draws from a queue without
             looking, in the mean.
    shares   a_k = p_k a exactly, as far as the class that runs out first allows. The formula as it
             stands; with random arrivals the other classes' queues then grow without bound at any
             load, as the square root of time, because no two streams of arrivals stay equal.

Source: Congestion, sections 2.2 and 5.1.
"""

from typing import Literal, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from fluidkv.fluid.iteration import State, Step, evict, execute
from fluidkv.fluid.model import MassModel

Selection = Literal["queued", "shares"]
"""Who is admitted when not all that waits can be."""

CapOn = Literal["total", "class"]
"""What a cap x limits: a, the sum over classes, or each a_k to p_k x."""

Blocked = Literal["wait", "lost"]
"""What becomes of requests that admission leaves over: they wait, or they leave for good."""

Queue = Float[Array, "class batch"]


class Cap(NamedTuple):
    """Limits on one iteration's admission, requests; infinity where there is none.

    Fields:
        total: on the sum over classes.
        classes: on each class.
    """

    total: Float[Array, " batch"]
    classes: Queue


class OpenStep(NamedTuple):
    """What happened in one iteration.

    Fields:
        masses: the state before, and the masses after execution, eviction and admission.
        arrived: requests that joined the queue, each class.
        lost: requests that left without being served, each class; zero where they wait.
        queue: requests waiting after admission, each class.
    """

    masses: Step
    arrived: Queue
    lost: Queue
    queue: Queue


def iterate_open(
    model: MassModel,
    state: State,
    queue: Queue,
    arrivals: Queue,
    cap: Cap,
    *,
    selection: Selection,
    blocked: Blocked,
) -> OpenStep:
    """One decoding iteration. What is evicted joins its class's queue before admission."""
    executed = execute(model, state)
    waiting = arrive(queue, arrivals)
    kept, free = evict(model, executed)
    waiting = waiting + jnp.sum(executed - kept, axis=0)
    admitted = admit(model, free, waiting, cap, selection=selection)
    left = jnp.maximum(waiting - admitted, 0.0)
    lost = left if blocked == "lost" else jnp.zeros_like(left)
    masses = Step(state, executed, kept, admitted, kept.at[0].set(admitted))
    return OpenStep(masses, arrivals, lost, left - lost)


def arrive(queue: Queue, arrivals: Queue) -> Queue:
    """Arrivals join the queue of their class."""
    return queue + arrivals


def admit(
    model: MassModel,
    free: Float[Array, " batch"],
    waiting: Queue,
    cap: Cap,
    *,
    selection: Selection,
) -> Queue:
    """Requests of each class that enter stage 0: limited by the queue, the free memory and the cap.

    Memory exactly full, an empty queue and a cap of 0 admit exactly 0.0.
    """
    shares = jnp.asarray(model.shares)[:, None]
    cost = jnp.asarray(model.weights)[:, :1]
    offered = jnp.minimum(waiting, cap.classes)
    if selection == "shares":
        total = jnp.minimum(free / jnp.sum(shares * cost), cap.total)
        total = jnp.minimum(total, jnp.min(offered / shares, axis=0))
        return shares * total[None, :]
    fits = _fraction(free, jnp.sum(offered * cost, axis=0))
    allowed = _fraction(cap.total, jnp.sum(offered, axis=0))
    return offered * jnp.minimum(fits, allowed)[None, :]


def _fraction(limit: Float[Array, " batch"], wanted: Float[Array, " batch"]) -> Array:
    """The part of what is wanted that a limit lets through; all of it where nothing is wanted."""
    over = wanted > limit
    return jnp.where(over, limit / jnp.where(over, wanted, 1.0), 1.0)
