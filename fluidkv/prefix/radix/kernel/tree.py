"""SGLang's prefix tree, as `radix.reference.RadixTree` call by call, without a look at texts.

How far a text is in the tree is how many pages of its strands are. The node of that place is the
deepest that the strand has, or one above it. Which node goes is what `leaves` says.
"""

from typing import Any

import numpy as np

from fluidkv.prefix.radix.kernel.layout import NONE, ROOT, Number, Record, Records, Space
from fluidkv.prefix.radix.kernel.leaves import lowest, offer
from fluidkv.runs.kernels import inner, routine

LOWEST, OF_ALL, OF_PROMPTS = np.array([-(2**62), 0, 1])
"""Priorities, of one type so that a walk is compiled once: none at all, a text's, its prompt's."""
ALL = np.int64(2**62)
"""Tokens that were inserted before: no node counts a hit."""


@routine
def reach(run: Record, space: Space, r: int, tokens: int) -> tuple[Any, Any]:
    """How many tokens of a text's whole pages are in the tree, and the strand of the last page."""
    whole, depth, strand = tokens // run.page * run.page, 0, NONE
    for place in range(space.requests[r].first_span, space.requests[r].last_span):
        span = space.spans[place]
        present = space.strands[span.strand].base + space.strands[span.strand].present
        if depth >= whole or present <= depth:
            break
        end = min(span.end, whole)
        depth, strand = min(end, present), span.strand
        if present < end:
            break
    return depth, strand


@routine
def insert(
    run: Record, space: Space, r: int, tokens: int, priority: Number, inserted: Number
) -> Any:
    """Keep the first tokens of a text, whole pages; what the tree lacks of them becomes a leaf.

    Returns:
        The tokens that the tree had.
    """
    node = walk(run, space, r, tokens, priority, inserted)
    had = space.nodes[node].end
    if had < tokens:
        _append(run, space, node, r, tokens, priority, int(tokens > inserted))
    return had


@routine
def walk(run: Record, space: Space, r: int, tokens: int, priority: Number, inserted: Number) -> Any:
    """Down as far as a text leads; a node that it ends in is split there.

    Nodes on the way are stamped, the one that is split before it is. They have at least this
    priority from then on; those that end beyond `inserted` tokens count one hit.

    Returns:
        The node at the end.
    """
    depth, strand = reach(run, space, r, tokens)
    now, nodes = _tick(run), space.nodes
    if depth == 0:
        return ROOT
    node = space.strands[strand].deepest
    while nodes[node].end - nodes[node].size >= depth:
        node = nodes[node].parent
    nodes[node].used = now
    if nodes[node].end > depth:
        node = _split(run, space, node, depth, strand)
    above = node
    while above != ROOT:
        if above != node:
            nodes[above].used = now
        nodes[above].priority = max(nodes[above].priority, priority)
        nodes[above].hits += nodes[above].end > inserted
        above = nodes[above].parent
        run.cost += 2
    offer(run, nodes, node)
    return node


@routine
def lock(run: Record, space: Space, node: int) -> None:
    """One more uses this path."""
    nodes, above = space.nodes, node
    while above != ROOT:
        if nodes[above].locks == 0:
            run.protected += nodes[above].size
        nodes[above].locks += 1
        above = nodes[above].parent
    offer(run, nodes, node)


@routine
def unlock(run: Record, space: Space, node: int) -> None:
    """One less uses this path."""
    nodes, above = space.nodes, node
    while above != ROOT:
        nodes[above].locks -= 1
        if nodes[above].locks == 0:
            run.protected -= nodes[above].size
        above = nodes[above].parent
    offer(run, nodes, node)


@routine
def evict(run: Record, space: Space, tokens: int) -> Any:
    """Whole leaves go, one by one, until so many tokens are free or none is left."""
    freed = 0
    while freed < tokens:
        leaf = lowest(run, space.nodes)
        if leaf == NONE:
            break
        freed += space.nodes[leaf].size
        _remove(run, space, leaf)
        run.cost += 20
    return freed


# --------------------------------------------------------------------------------------- the nodes


@inner
def _tick(run: Record) -> Any:
    run.tick += 1
    return run.tick


@inner
def _new(run: Record, nodes: Records) -> Any:
    node = run.given_back
    if node == NONE:
        node = run.fresh
        run.fresh += 1
    else:
        run.given_back = nodes[node].parent
    run.spare_nodes -= 1
    nodes[node].place = NONE
    return node


@routine
def _split(run: Record, space: Space, node: int, depth: int, strand: int) -> Any:
    """A new node takes the first tokens of this one, which end in a strand, and its place."""
    nodes, upper = space.nodes, _new(run, space.nodes)
    begin = nodes[node].end - nodes[node].size
    _tick(run)  # of the birth of the upper part, in SGLang's other tree
    nodes[upper].used = _tick(run)
    nodes[upper].born, nodes[upper].hits = nodes[node].born, nodes[node].hits
    nodes[upper].priority, nodes[upper].locks = nodes[node].priority, nodes[node].locks
    nodes[upper].parent, nodes[upper].children = nodes[node].parent, 1
    nodes[upper].end, nodes[upper].size = depth, depth - begin
    nodes[upper].strand = strand
    nodes[node].parent, nodes[node].size = upper, nodes[node].end - depth
    # Strands that go over into others inside of the upper part have their last page there.
    below = nodes[node].strand
    while space.strands[below].base > begin:
        below = space.strands[below].parent
        if space.strands[below].base + space.strands[below].present <= depth:
            space.strands[below].deepest = upper
    offer(run, nodes, node)
    return upper


@routine
def _append(
    run: Record, space: Space, parent: int, r: int, end: int, priority: Number, hits: int
) -> None:
    """A leaf of the pages of a text from the end of a node on."""
    nodes, leaf, begin = space.nodes, _new(run, space.nodes), space.nodes[parent].end
    nodes[leaf].used = _tick(run)
    nodes[leaf].born = _tick(run)
    nodes[leaf].priority, nodes[leaf].hits = priority, hits
    nodes[leaf].parent, nodes[leaf].children, nodes[leaf].locks = parent, 0, 0
    nodes[leaf].end, nodes[leaf].size = end, end - begin
    for place in range(space.requests[r].first_span, space.requests[r].last_span):
        span = space.spans[place]
        if span.end > begin:
            strand = space.strands[span.strand]
            strand.present = min(span.end, end) - strand.base
            strand.deepest = leaf
            nodes[leaf].strand = span.strand
            if span.end >= end:
                break
    nodes[parent].children += 1
    run.total += end - begin
    offer(run, nodes, parent)
    offer(run, nodes, leaf)


@routine
def _remove(run: Record, space: Space, leaf: int) -> None:
    nodes, strands, parent = space.nodes, space.strands, space.nodes[leaf].parent
    begin, strand = nodes[leaf].end - nodes[leaf].size, nodes[leaf].strand
    while strand != NONE and strands[strand].base >= begin:
        strands[strand].present = 0
        at_its_begin = strands[strand].base == begin
        strand = NONE if at_its_begin else strands[strand].parent
    if strand != NONE:
        strands[strand].present = begin - strands[strand].base
        strands[strand].deepest = parent
    run.total -= nodes[leaf].size
    nodes[parent].children -= 1
    nodes[leaf].parent, run.given_back = run.given_back, leaf
    run.spare_nodes += 1
    offer(run, nodes, parent)
