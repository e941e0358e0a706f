"""Calls on a tree as record files write them, and what they do."""

from collections.abc import Iterable
from typing import Any

from fluidkv.prefix.pieces import content
from fluidkv.prefix.radix.operations import CALLS, Operations
from fluidkv.prefix.radix.reference import RadixTree


def rows(
    tree: RadixTree, capacity: int, calls: Iterable[list[Any]], pool: type[Operations] = Operations
) -> list[list[Any]]:
    """The row of each call, on a tree and a pool that are empty at first."""
    on = pool(tree, capacity)
    return [
        getattr(on, CALLS[name])(*(content(x) if isinstance(x, list) else x for x in given))
        for name, *given in calls
    ]
