"""Memory and tree of one server: room, what requests hold, what enters the tree.

A token is free, in the tree, or held by one request alone.
"""

from typing import Any

from fluidkv.prefix.radix.kernel.tree import (
    ALL,
    LOWEST,
    OF_ALL,
    OF_PROMPTS,
    evict,
    insert,
    lock,
    reach,
    unlock,
    walk,
)
from fluidkv.runs.kernels import inner, routine
from fluidkv.serving.caching.sglang.kernel.layout import Record, Space


@inner
def free_tokens(run: Record) -> Any:
    """What can be had."""
    return run.available + run.total - run.protected


@inner
def in_pages(run: Record, tokens: int) -> Any:
    """Tokens of the pages that hold so many of one request."""
    return (tokens + run.page - 1) // run.page * run.page


@routine
def make_room(run: Record, space: Space, tokens: int) -> Any:
    """Evict until so many are available, as far as that goes; whether they are."""
    if run.radix and tokens > run.available:
        run.available += evict(run, space, tokens - run.available)
    return run.available >= tokens


@inner
def grow(run: Record, request: Record, tokens: int) -> None:
    """It gets places for so many tokens in all."""
    run.available -= in_pages(run, tokens) - in_pages(run, request.slots)
    request.slots = tokens


@routine
def release(run: Record, space: Space, request: Record) -> None:
    """What it holds alone is free again, and it uses its prefix no more."""
    run.available += in_pages(run, request.slots) - request.shared
    unlock_prefix(run, space, request)
    request.slots = request.shared = request.inserted = 0


@routine
def find(run: Record, space: Space, r: int) -> None:
    """Find the prefix of a request; its last token is computed in any case."""
    request = space.requests[r]
    request.prefix = 0
    if run.radix:
        request.node = look(run, space, r, request.input + request.outputs - 1)
        request.prefix = space.nodes[request.node].end
    request.slots = request.shared = request.prefix


@routine
def look(run: Record, space: Space, r: int, tokens: int) -> Any:
    """The node where the tree ends for a text's first tokens; it counts as used."""
    return walk(run, space, r, tokens, LOWEST, ALL)


@routine
def found(run: Record, space: Space, r: int) -> Any:
    """Tokens of its prompt that a request would find now; looking changes nothing."""
    if not run.radix:
        return 0
    request = space.requests[r]
    return reach(run, space, r, request.input + request.outputs - 1)[0]


@routine
def lock_prefix(run: Record, space: Space, request: Record) -> None:
    """The node of its match is in use."""
    if run.radix:
        lock(run, space, request.node)
        request.locked = 1


@routine
def unlock_prefix(run: Record, space: Space, request: Record) -> None:
    """It does not use its node any more, if it did."""
    if request.locked:
        unlock(run, space, request.node)
        request.locked = 0


@routine
def store(run: Record, space: Space, r: int, tokens: int) -> None:
    """Its first tokens enter the tree, in whole pages, and it uses them there.

    What the tree had of them already is free now. The node is split where the prompt ends, so that
    outputs can go and prompts stay.
    """
    request = space.requests[r]
    whole = tokens // run.page * run.page
    prompt = request.input // run.page * run.page
    if not run.radix or whole == 0:
        return
    had = insert(run, space, r, whole, OF_ALL, request.inserted)
    run.available += had - request.shared
    request.inserted = max(request.inserted, whole)
    if 0 < prompt < whole:
        walk(run, space, r, prompt, OF_PROMPTS, prompt)
    unlock_prefix(run, space, request)
    request.node = look(run, space, r, whole)
    request.shared = whole
    lock_prefix(run, space, request)
