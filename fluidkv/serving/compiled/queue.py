"""The waiting queue of the compiled engine: who stands at its head, without a list of all.

Requests that never ran stand in order of arrival, so a counter is enough for them. The evicted
stand before all of these (`Requeue.HEAD`) or behind those that had arrived (`Requeue.TAIL`).

`Requeue.BY_PRIORITY` has no such order: all requests of a run stand in one line that never changes,
with a mark at each whether it never ran, was evicted, or is away (it runs, or is done), and the
head is found by passing over the line, each time. So an iteration costs O(requests) there.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from fluidkv.serving.compiled.state import Line, Queue, pick, put

NEVER_RAN, AWAY, EVICTED = 0, 1, 2
"""Where a request of the line is. Who never ran waits once it has arrived."""


def waiting(queue: Queue, arrived: Int[Array, " run"]) -> Int[Array, " run"]:
    """How many wait."""
    return arrived - queue.fresh + queue.evicted


def first(
    queue: Queue, arrived: Int[Array, " run"], width: int
) -> tuple[Int[Array, "run width"], Bool[Array, "run width"]]:
    """The first `width` of the queue, and which of them were evicted before.

    Where fewer wait, the rest means nothing, but is the index of some request.
    """
    if queue.line is not None:
        return _first_of_the_line(queue, queue.line, arrived, width)
    size = queue.ring.shape[1]
    place = jnp.arange(width, dtype=jnp.int32)[None]
    count, fresh = queue.evicted[:, None], queue.fresh[:, None]
    if queue.tags is None:  # evicted requests stand at the head
        evicted = place < count
        index, passed = count - 1 - place, jnp.minimum(place, count)
    else:
        # The r-th evicted has r others before it, and the fresh ones that came before it: a fresh
        # one that came later stands behind it, so `fresh` is not past the tag of who still waits.
        index = (queue.head[:, None] + place) % size
        rank = place + pick(queue.tags, index) - fresh
        rank = jnp.where(place < count, rank, size + width)
        upto = jnp.sum(rank[:, None, :] <= place[:, :, None], axis=2, dtype=jnp.int32)
        evicted = jnp.any(rank[:, None, :] == place[:, :, None], axis=2)
        index, passed = (queue.head[:, None] + upto - 1) % size, upto
    ring = pick(queue.ring, jnp.clip(index, 0, size - 1))
    return jnp.where(evicted, ring, jnp.minimum(fresh + place - passed, size - 1)), evicted


def _first_of_the_line(
    queue: Queue, line: Line, arrived: Int[Array, " run"], width: int
) -> tuple[Int[Array, "run width"], Bool[Array, "run width"]]:
    size = queue.ring.shape[1]
    waits = (queue.ring != AWAY) & (line.request < arrived[:, None])
    count = jnp.cumsum(waits, axis=1, dtype=jnp.int32)
    # Before the k-th who waits are the places up to which k or fewer wait: by bisection.
    k = jnp.arange(width, dtype=jnp.int32)[None]
    place = jnp.zeros((arrived.size, width), jnp.int32)
    for bit in reversed(range(size.bit_length())):
        more = place + (1 << bit)
        few = pick(count, jnp.minimum(more, size) - 1) <= k
        place = jnp.where((more <= size) & few, more, place)
    place = jnp.minimum(place, size - 1)
    return pick(line.request, place), pick(queue.ring, place) == EVICTED


def leave(
    queue: Queue,
    fresh: Int[Array, " run"],
    evicted: Int[Array, " run"],
    request: Int[Array, "run some"],
    leaves: Bool[Array, "run some"],
) -> Queue:
    """So many of either kind are admitted from the head: these requests."""
    if queue.line is not None:
        queue = queue._replace(ring=_marked(queue, queue.line, request, leaves, AWAY))
    if queue.tags is not None:
        queue = queue._replace(head=(queue.head + evicted) % queue.ring.shape[1])
    return queue._replace(fresh=queue.fresh + fresh, evicted=queue.evicted - evicted)


def join(
    queue: Queue,
    arrived: Int[Array, " run"],
    request: Int[Array, "run some"],
    joins: Bool[Array, "run some"],
) -> Queue:
    """The evicted join, in order of eviction. With HEAD, the last one is then next."""
    size = queue.ring.shape[1]
    if queue.line is not None:
        ring = _marked(queue, queue.line, request, joins, EVICTED)
        evicted = queue.evicted + jnp.sum(joins, axis=1, dtype=jnp.int32)
        return queue._replace(ring=ring, evicted=evicted)
    rank = jnp.cumsum(joins, axis=1, dtype=jnp.int32) - 1
    index = queue.evicted[:, None] + rank
    if queue.tags is not None:
        index = (queue.head[:, None] + index) % size
    index = jnp.where(joins, index, size)
    queue = queue._replace(
        ring=put(queue.ring, index, request), evicted=queue.evicted + rank[:, -1] + 1
    )
    if queue.tags is not None:
        tags = jnp.broadcast_to(arrived[:, None], index.shape)
        queue = queue._replace(tags=put(queue.tags, index, tags))
    return queue


def _marked(
    queue: Queue,
    line: Line,
    request: Int[Array, "run some"],
    which: Bool[Array, "run some"],
    mark: int,
) -> Int[Array, "run place"]:
    size = queue.ring.shape[1]
    place = pick(line.place, jnp.minimum(request, size - 1))  # in a hole stands no request
    marks = jnp.full(place.shape, mark, jnp.int32)
    return put(queue.ring, jnp.where(which, place, size), marks)
