"""A cache that evicts whole nodes, asked by the requests of a trie: SGLang's tree.

A request matches, what it lacks is made room for, and all of it is inserted. Meanwhile the matched
path is locked. Nodes are as long as the requests made them, so more goes than is needed.
"""

import sys
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie.cache import capacity_units
from fluidkv.prefix.on_trie.trie import Trie
from fluidkv.prefix.policies import Policy
from fluidkv.prefix.radix.kernel.layout import (
    NONE,
    NUMBERS,
    ROOT,
    SPANS,
    TREE,
    Records,
    empty_tree,
    new_spans,
    new_strands,
)
from fluidkv.prefix.radix.values import checked_policy
from fluidkv.runs.inlined import as_objects
from fluidkv.runs.interpreted import as_python, interpreted

_KERNEL = "fluidkv.prefix.radix.kernel.cache"
_PASSES = 10
"""Of loops, that a request is about as much work as, in plain Python."""


class _Space(NamedTuple):
    """What the tree of a trie lies in: a node ends where a stretch does."""

    requests: Records
    nodes: Records
    strands: Records
    spans: Records


@dataclass(eq=False)
class NodeCache:
    """As `cache.TraceCache`, with nodes in place of units.

    Args:
        trie: what there is to ask for.
        capacity: tokens; whole pages of them are used.
        policy: one that SGLang's tree has.

    Raises:
        InputError: a request longer than the cache, another policy, units that go one by one.

    Examples:
        >>> from fluidkv.prefix import Granularity, NodeCache, Policy, loop, trie_of
        >>> cache = NodeCache(trie_of(loop(0)[1], Granularity(nodes=True)), 6, Policy.LRU)
        >>> [cache.request(r) for r in (0, 1, 0)], cache.total  # tokens found; then those cached
        ([0, 2, 3], 4)
    """

    trie: Trie
    capacity: int
    policy: Policy
    evicted: int = field(default=0, init=False)
    """Units that went for the last request, needed or not."""

    def __post_init__(self) -> None:
        if not self.trie.granularity.nodes:
            raise InputError("granularity", self.trie.granularity, "whole nodes")
        self.units = capacity_units(self.trie, self.capacity)
        self._page = self.trie.granularity.page
        self._state = _tree_of(self.trie, checked_policy(self.policy))
        self._in_python = as_python(_PASSES * len(self.trie), lambda: _KERNEL in sys.modules)
        if self._in_python:
            self._state = tuple(map(as_objects, self._state))
        self._kernel = self._code()

    def _code(self) -> Any:
        return interpreted(_KERNEL) if self._in_python else import_module(_KERNEL)

    def __getstate__(self) -> dict[str, Any]:  # a module cannot be copied
        return {name: value for name, value in vars(self).items() if name != "_kernel"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._kernel = self._code()

    @property
    def total(self) -> int:
        """Units cached."""
        runs, _ = self._state
        return int(runs[0]["total"]) // self._page

    def found(self, request: int) -> int:
        """How many of its units, from the first, are cached now."""
        tokens = self.trie.units[request] * self._page
        return self._kernel.found_tokens(*self._state, request, tokens) // self._page

    def request(self, request: int, priority: int = 0) -> int:
        """Serves it, and caches all of it; how many of its units, from the first, were there."""
        tokens, capacity = self.trie.units[request] * self._page, self.units * self._page
        found, gone = self._kernel.serve(*self._state, request, tokens, capacity, priority)
        self.evicted = gone // self._page
        return found // self._page


def _tree_of(trie: Trie, policy: Policy) -> tuple[Records, _Space]:
    """The record of an empty one, whose strands are the stretches, and its space."""
    page, size = trie.granularity.page, len(trie.size)
    before, ends = (
        np.array(units) * page for units in (trie.before, np.add(trie.before, trie.size))
    )
    spans = np.array([stretch for path in trie.paths for stretch in path], np.int64)
    requests = np.zeros(len(trie), SPANS)
    requests["last_span"] = np.cumsum([len(path) for path in trie.paths])
    requests["first_span"][1:] = requests["last_span"][:-1]
    runs = np.zeros(1, TREE)
    for name, value in (
        *(("page", page), ("policy", NUMBERS[policy])),
        *(("fresh", ROOT + 1), ("given_back", NONE), ("spare_nodes", size)),
    ):
        runs[name] = value
    space = _Space(
        requests,
        empty_tree(size + 1),
        new_strands(np.array(trie.parent), before),
        new_spans(spans, ends[spans]),
    )
    return runs, space
