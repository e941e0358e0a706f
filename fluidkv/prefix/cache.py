"""A prefix cache asked by the requests of a trace, one after the other; no engine and no clock.

It does what `reference` says, on the stretches of a trie instead of single units.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from fluidkv.errors import InputError
from fluidkv.prefix.drawn import Drawn
from fluidkv.prefix.held import Held
from fluidkv.prefix.ordered import Gone, Ordered
from fluidkv.prefix.policies import Policy
from fluidkv.prefix.trie import Trie
from fluidkv.runs.checks import count


@dataclass(eq=False)
class TraceCache:
    """A cache that the requests of a trie can be asked of, in any order, again and again.

    Args:
        trie: what there is to ask for.
        capacity: tokens; whole pages of them are used.
        policy: what goes when it is full.
        seed: of the lots, for policies that draw.
        order: for OPT: the requests that will come, in order.
        record: keep `gone`.

    Raises:
        InputError: a request longer than the cache, nodes instead of units.
    """

    trie: Trie
    capacity: int
    policy: Policy
    seed: int = 0
    order: Sequence[int] = ()
    record: bool = False
    evicted: int = field(default=0, init=False)
    """Units that went for the last request."""

    def __post_init__(self) -> None:
        self.units = capacity_units(self.trie, self.capacity)
        self._held = Held(self.trie)
        if self.policy.draws:
            marks = self.policy is Policy.RLT
            self._evictor: Drawn | Ordered = Drawn(
                self._held, self.units, marks, self.seed, self.record
            )
        else:
            self._evictor = Ordered(self._held, self.policy, self.order, self.record)

    @property
    def total(self) -> int:
        """Units cached."""
        return self._held.total

    @property
    def gone(self) -> list[Gone]:
        """What went for the last request, in order: (stretch, its first unit that went, units)."""
        return self._evictor.gone

    def found(self, request: int) -> int:
        """How many of its units, from the first, are cached now."""
        path = self.trie.paths[request]
        if isinstance(self._evictor, Drawn):
            self._evictor.settle(path)
        return self._held.found(path).hits

    def request(self, request: int, priority: int = 0) -> int:
        """Serves it, and caches all of it; how many of its units, from the first, were there."""
        path, held = self.trie.paths[request], self._held
        if isinstance(self._evictor, Drawn):
            self._evictor.settle(path)
        hits, tip = held.found(path)
        self.evicted = max(0, self.trie.units[request] - hits + held.total - self.units)
        self._evictor.make_room(path, hits, tip, self.evicted)
        loaded = [held.load(stretch) for stretch in path]
        self._evictor.used(path, loaded, priority)
        return hits


@dataclass(frozen=True, eq=False)
class CacheRun:
    """What a cache found for the requests of a trace.

    Fields:
        hit_units, hit_tokens: (request,), of its prompt, found.
        units, tokens: (request,), of its prompt.
        evicted: (request,), units that went for it.
    """

    policy: Policy
    capacity: int
    hit_units: np.ndarray
    hit_tokens: np.ndarray
    units: np.ndarray
    tokens: np.ndarray
    evicted: np.ndarray

    def hit_rate(self, of: Literal["tokens", "units"] = "tokens", *, first: int = 0) -> float:
        """The share of prompts that was found.

        Args:
            of: tokens, or units: pages, or references to blocks.
            first: requests at the start that are left out.

        Raises:
            InputError: another word, or nothing left to speak of.
        """
        if of not in ("tokens", "units"):
            raise InputError("of", of, "'tokens' or 'units'")
        hits, asked = (
            (self.hit_tokens, self.tokens) if of == "tokens" else (self.hit_units, self.units)
        )
        first = count("first", first, least=0, most=len(asked) - 1)
        if asked[first:].sum() == 0:
            raise InputError("of", of, "'tokens', where no prompt fills a page")
        return float(hits[first:].sum() / asked[first:].sum())


def run_cache(
    trie: Trie,
    capacity: int,
    policy: Policy,
    *,
    seed: int = 0,
    order: Iterable[int] | None = None,
    priorities: Sequence[int] | None = None,
) -> CacheRun:
    """A cache, empty at first, asked by all requests.

    Args:
        trie: from `trie_of`.
        capacity: tokens.
        policy: what goes when it is full.
        seed: for policies that draw.
        order: requests, by their place in the table; any of them again and again. None: each once.
        priorities: one for each request of the table; None: all alike.

    Raises:
        InputError: a request longer than the cache, a place that the table does not have.
    """
    asked = list(range(len(trie))) if order is None else _places(order, len(trie))
    if priorities is not None and len(priorities) != len(trie):
        raise InputError("priorities", f"{len(priorities)} entries", f"{len(trie)}, one a request")
    cache = TraceCache(trie, capacity, policy, seed, asked)
    found, evicted = [], []
    for request in asked:
        found.append(cache.request(request, 0 if priorities is None else priorities[request]))
        evicted.append(cache.evicted)
    return as_run(trie, capacity, policy, asked, found, evicted)


def as_run(
    trie: Trie,
    capacity: int,
    policy: Policy,
    order: Sequence[int],
    found: Sequence[int],
    evicted: Sequence[int],
) -> CacheRun:
    """Units found and evicted for each request of an order, as a record."""
    hits = [min(units, trie.asked_units[r]) for r, units in zip(order, found, strict=True)]
    return CacheRun(
        policy,
        capacity,
        np.array(hits, np.int64),
        np.array([trie.hit_tokens(r, h) for r, h in zip(order, found, strict=True)], np.int64),
        np.array([trie.asked_units[r] for r in order], np.int64),
        np.array([trie.asked_tokens[r] for r in order], np.int64),
        np.array(evicted, np.int64),
    )


def capacity_units(trie: Trie, capacity: int) -> int:
    """A capacity in tokens as one in units.

    Raises:
        InputError: a request is longer; nodes instead of units.
    """
    if trie.granularity.nodes:
        raise InputError("granularity", "nodes", "units, here; nodes are played by a radix tree")
    page = trie.granularity.page
    if count("capacity", capacity) // page < trie.longest:
        allowed = f"at least {trie.longest * page} tokens: the longest request"
        raise InputError("capacity", capacity, allowed)
    return capacity // page


def _places(order: Iterable[int], requests: int) -> list[int]:
    found = [count("order", place, least=0, most=requests - 1) for place in order]
    if not found:
        raise InputError("order", found, "at least one request")
    return found
