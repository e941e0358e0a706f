"""Which leaf of the tree goes next: those that may stand in a heap, each once, by their policy."""

from typing import Any

from fluidkv.prefix.policies import PROTECTED_HITS
from fluidkv.prefix.radix.kernel.layout import (
    FIFO,
    FILO,
    LFU,
    LRU,
    MRU,
    NONE,
    ROOT,
    SLRU,
    Record,
    Records,
)
from fluidkv.runs.kernels import routine


@routine
def offer(run: Record, nodes: Records, node: int) -> None:
    """A leaf that nobody uses stands in the heap, by its key as it is now; no other node does."""
    if node == ROOT or nodes[node].children > 0 or nodes[node].locks > 0:
        if nodes[node].place != NONE:
            _drop(run, nodes, node)
        return
    place = nodes[node].place
    if place == NONE:
        place = run.heap
        run.heap += 1
    _settle(run, nodes, node, place)


@routine
def lowest(run: Record, nodes: Records) -> Any:
    """The leaf that goes next, which is in the heap no more; NONE: there is none."""
    if run.heap == 0:
        return NONE
    leaf = nodes[0].heap
    _drop(run, nodes, leaf)
    return leaf


@routine
def _drop(run: Record, nodes: Records, node: int) -> None:
    run.heap -= 1
    place, last = nodes[node].place, nodes[run.heap].heap
    nodes[node].place = NONE
    if last != node:
        _settle(run, nodes, last, place)


@routine
def _settle(run: Record, nodes: Records, node: int, place: int) -> None:
    """Put a node at this place of the heap, or where it belongs from there."""
    while place > 0 and _before(run, nodes, node, nodes[(place - 1) // 2].heap):
        above = nodes[(place - 1) // 2].heap
        nodes[place].heap, nodes[above].place = above, place
        place = (place - 1) // 2
    while 2 * place + 1 < run.heap:
        child = 2 * place + 1
        other = child + 1
        if other < run.heap and _before(run, nodes, nodes[other].heap, nodes[child].heap):
            child = other
        below = nodes[child].heap
        if not _before(run, nodes, below, node):
            break
        nodes[place].heap, nodes[below].place = below, place
        place = child
    nodes[place].heap, nodes[node].place = node, place


@routine
def _before(run: Record, nodes: Records, a: int, b: int) -> bool:
    """Whether one goes before another, as `prefix.policies.key` says it."""
    one, other = nodes[a], nodes[b]
    if run.policy == MRU:
        return one.used > other.used
    if run.policy == FIFO:
        return one.born < other.born
    if run.policy == FILO:
        return one.born > other.born
    if run.policy != LRU:
        if run.policy == LFU:
            mine, its = one.hits, other.hits
        elif run.policy == SLRU:
            mine, its = int(one.hits >= PROTECTED_HITS), int(other.hits >= PROTECTED_HITS)
        else:
            mine, its = one.priority, other.priority
        if mine != its:
            return mine < its
    return one.used < other.used
