"""The engine with one rule changed each: what a record has to tell from the real one.

The loop as plain Python is its own source, so that a wrong rule is a change of its text.
"""

import inspect
from collections.abc import Sequence
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import pytest

from fluidkv.serving.kernel import admit, choosing, evict, execute, loop, pool, worker

_MODULES = (admit, choosing, evict, execute, loop, pool, worker)


class Change(NamedTuple):
    """Text of a function of a module that is another one; `names`: what the new text needs."""

    module: ModuleType
    function: str
    old: str
    new: str
    names: Sequence[Any] = ()


def changed(monkeypatch: pytest.MonkeyPatch, *changes: Change) -> None:
    """The loop as plain Python has these until the end of a test."""
    for module, name, old, new, names in changes:
        right = getattr(module, name)
        text = inspect.getsource(right)
        assert text.count(old) == 1, (name, old)
        known = vars(module) | {each.__name__: each for each in names}
        space: dict[str, Any] = {}
        exec(text.replace(old, new).replace("@inlined\n", ""), known, space)
        wrong = FunctionType(space[name].__code__, known, name)
        for each in _MODULES:
            if getattr(each, name, None) is right:
                monkeypatch.setattr(each, name, wrong)


_RENEWS = """for place in range(found - 1, -1, -1):
        block = blocks.copies[blocks.names[blocks.first[r] + place]].oldest
        if blocks.line[block].holders == 0:
            _unlink(run, blocks.line, block)
            _link(run, blocks.line, block, blocks.line[blocks.line.size - 1].before)
    return found, unheld"""

_WRITES = """for place in range(run.loose):
        r = space.lists[place].loose
        request = space.requests[r]
        done, more = request.computed, request.computed + request.tokens
        for full in range(done // run.block_size, more // run.block_size):
            at = blocks.first[r] + full
            _write(run, blocks, blocks.held[at], blocks.names[at])
    computing, tokens, prefilled"""

RENEWING = (Change(pool, "look_up", "return found, unheld", _RENEWS),)
"""A lookup moves what it found to the end of the line, whether or not admission follows."""

WRONG = {
    "a lookup gives the newest copy": (
        Change(pool, "look_up", ".oldest", ".newest"),
        Change(pool, "share", ".oldest", ".newest"),
    ),
    "a beginning is released first": (
        Change(pool, "release", "request.blocks - 1, -1, -1", "request.blocks"),
    ),
    "unfinished blocks wait behind the others": (
        Change(
            pool,
            "release",
            "ends if line[block].name == NONE else line[ends].before",
            "line[ends].before",
        ),
    ),
    "nothing is in two blocks": (
        Change(
            pool,
            "_write",
            "blocks.line[block].name = name\n",
            "if blocks.copies[name].oldest != NONE:\n        return\n"
            "    blocks.line[block].name = name\n",
        ),
    ),
    "the block released last is reused first": (
        Change(pool, "_take", "line[line.size - 1].after", "line[line.size - 1].before"),
    ),
    "a free block says nothing": (
        Change(
            pool,
            "look_up",
            "if block == NONE:",
            "if block == NONE or blocks.line[block].holders == 0:",
        ),
    ),
    "outputs are not cached": (
        Change(
            pool,
            "compute",
            "(computed + tokens) // size)",
            "min(computed + tokens, request.input) // size)",
        ),
    ),
    "a block counts as cached from the next step on": (
        Change(pool, "compute", "(computed + tokens) // size)", "computed // size)"),
        Change(execute, "execute", "computing, tokens, prefilled", _WRITES, (pool._write,)),
    ),
    "hits in the free line are not asked for": (
        Change(admit, "admit", "held, known - unheld)", "held, known)"),
    ),
    "a prompt that is wholly cached computes nothing": (
        Change(pool, "look_up", "request.outputs - 1)", "request.outputs)"),
    ),
}
"""vLLM's prefix cache, but."""

WRONG_ROUNDS = {
    "after_itself": Change(
        evict,
        "_one_after_the_other",
        "            evicted += 1\n",
        "            evicted += 1\n            if gone == r:\n                return evicted\n",
    ),
    "tokens_handed_on": Change(
        evict, "_one_after_the_other", "            left += space.requests[gone].tokens\n", ""
    ),
}
"""Who evicts itself ends the round, as in vLLM 0.11; a victim's tokens are not handed on."""
