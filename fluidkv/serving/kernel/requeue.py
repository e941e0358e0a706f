"""The queue, and where an evicted request waits in it: a ring, or, by priority, a heap of ranks."""

from enum import Enum

from fluidkv.runs.inlined import inlined
from fluidkv.serving.kernel.layout import Record, Records, Space


class Requeue(Enum):
    """Where an evicted request waits."""

    HEAD = "head of the queue, the last evicted first"
    TAIL = "tail of the queue, behind what has arrived; in the order of eviction"
    BY_PRIORITY = "where priority and arrival say, as everybody who waits"


QUEUES = {requeue: number for number, requeue in enumerate(Requeue)}
HEAD, BY_PRIORITY = QUEUES[Requeue.HEAD], QUEUES[Requeue.BY_PRIORITY]


@inlined
def first(run: Record, space: Space) -> int:
    """Who is served next; somebody must wait."""
    if run.requeue == BY_PRIORITY:
        return space.aside[space.lists[0].waiting].who
    return space.lists[run.head].waiting


@inlined
def come(run: Record, space: Space, r: int) -> None:
    """It joins the tail."""
    if run.requeue == BY_PRIORITY:
        _push(run, space.lists, space.aside[r].rank)
    else:
        at = run.head + run.waiting
        space.lists[at if at < space.lists.size else at - space.lists.size].waiting = r
    run.waiting += 1


@inlined
def come_back(run: Record, space: Space, r: int) -> None:
    """It was evicted."""
    if run.requeue != HEAD:
        come(run, space, r)
        return
    run.head = run.head - 1 if run.head > 0 else space.lists.size - 1
    space.lists[run.head].waiting = r
    run.waiting += 1


@inlined
def served(run: Record, space: Space) -> None:
    """The first is taken out."""
    run.waiting -= 1
    if run.requeue == BY_PRIORITY:
        _pop(run, space.lists)
    else:
        run.head = run.head + 1 if run.head + 1 < space.lists.size else 0


@inlined
def _push(run: Record, heap: Records, rank: int) -> None:
    at = run.waiting
    while at > 0 and heap[(at - 1) >> 1].waiting > rank:
        heap[at].waiting = heap[(at - 1) >> 1].waiting
        at = (at - 1) >> 1
    heap[at].waiting = rank


@inlined
def _pop(run: Record, heap: Records) -> None:
    """The last takes the place of the first."""
    rank = heap[run.waiting].waiting
    at, child = 0, 1
    while child < run.waiting:
        if heap[child + 1].waiting < heap[child].waiting:  # behind the last child: `rank` itself
            child += 1
        if heap[child].waiting >= rank:
            break
        heap[at].waiting = heap[child].waiting
        at, child = child, 2 * child + 1
    heap[at].waiting = rank
