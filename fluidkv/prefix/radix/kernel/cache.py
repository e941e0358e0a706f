"""A tree that the requests of a trace are asked of, one after the other."""

import numpy as np

from fluidkv.prefix.radix.kernel.layout import Records, Space
from fluidkv.prefix.radix.kernel.tree import (
    ALL,
    LOWEST,
    evict,
    insert,
    lock,
    reach,
    unlock,
    walk,
)
from fluidkv.runs.kernels import kernel


@kernel
def found_tokens(runs: Records, space: Space, r: int, tokens: int) -> int:
    """How many of a text's first tokens are there now."""
    return reach(runs[0], space, r, tokens)[0]


@kernel
def serve(
    runs: Records, space: Space, r: int, tokens: int, capacity: int, priority: int
) -> tuple[int, int]:
    """All of a text is there from now on, and what it finds is locked while room is made for it.

    Returns:
        Tokens that it found, and those that went.
    """
    run = runs[0]
    node = walk(run, space, r, tokens, LOWEST, ALL)
    found = space.nodes[node].end
    lock(run, space, node)
    gone = evict(run, space, tokens - found + run.total - capacity)
    unlock(run, space, node)
    insert(run, space, r, tokens, np.int64(priority), 0)
    return found, gone
