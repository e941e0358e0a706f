"""Leaf-LRU by whole nodes, as a radix tree has them: what is evicted may be more than is needed.

A node holds the tokens of one path from one place to another. What a path adds is one new node
behind what it shares; where a path leaves a node in the middle, or ends there, the node is split
into two. The leaf node that was accessed longest ago goes as a whole.
"""

from collections.abc import Iterable
from typing import NamedTuple

from fluidkv.prefix.paging.tokens import Path, check_requests, singles


class Node(NamedTuple):
    """Tokens of a path from place `first` on, up to its end."""

    path: Path
    first: int


Nodes = tuple[Node, ...]
"""What is cached, the node accessed longest ago first; on one path, parents first."""


def serve_nodes(cached: Nodes, path: Path, capacity: int) -> tuple[Nodes, int]:
    """The cache after a path was processed, and the tokens that it missed."""
    others, used = list(cached), list[Node]()
    matched = 0
    while matched < len(path):
        at, shared = _longest(others, path, matched)
        if not shared:
            break
        node = others.pop(at)
        matched += shared
        if node.first + shared < len(node.path):  # the rest keeps its place
            others.insert(at, Node(node.path, matched))
        used.append(Node(path[:matched], node.first))
    missed = len(path) - matched
    while _size(others) + matched > capacity - missed:
        parents = {node.path[: node.first] for node in others}
        others.remove(next(node for node in others if node.path not in parents))
    if missed:
        used.append(Node(path, matched))
    return (*others, *used), missed


def node_misses(paths: Iterable[Path], capacity: int) -> int:
    """Tokens missed from the empty cache.

    Raises:
        InputError: as `check_requests`.
    """
    cached, missed = (), 0
    for (path,) in check_requests(singles(paths), capacity):
        cached, more = serve_nodes(cached, path, capacity)
        missed += more
    return missed


def _longest(nodes: list[Node], path: Path, matched: int) -> tuple[int, int]:
    """The node that goes on from `matched` tokens of the path, and how many tokens they share."""
    for at, node in enumerate(nodes):
        if node.first == matched and node.path[: matched + 1] == path[: matched + 1]:
            shared = 0
            for own, asked in zip(node.path[matched:], path[matched:], strict=False):
                if own != asked:
                    break
                shared += 1
            return at, shared
    return -1, 0


def _size(nodes: list[Node]) -> int:
    return sum(len(node.path) - node.first for node in nodes)
