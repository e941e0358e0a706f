"""The requests of a trace ask a cache one after the other; no engine and no clock."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fluidkv.errors import InputError
from fluidkv.labels import dataset
from fluidkv.prefix.on_trie.cache import TraceCache
from fluidkv.prefix.on_trie.drawn_nodes import DrawnNodes
from fluidkv.prefix.on_trie.nodes import NodeCache
from fluidkv.prefix.on_trie.trie import Trie
from fluidkv.prefix.policies import Policy
from fluidkv.record import Record
from fluidkv.runs.checks import count

if TYPE_CHECKING:
    import xarray as xr

Measure = Literal["tokens", "units"]
"""What a hit rate is a share of: tokens of prompts, or units: pages, references to blocks."""


@dataclass(frozen=True, eq=False)
class CacheRun(Record):
    """What a cache found for the requests of a trace.

    Fields:
        hit_units, hit_tokens: (request,), of its prompt, found.
        units, tokens: (request,), of its prompt.
        evicted: (request,), units that went for it.

    Examples:
        >>> from fluidkv.prefix import Policy, loop, run_cache, trie_of
        >>> run = run_cache(trie_of(loop(0)[1]), 6, Policy.LRU)
        >>> run.tokens[:3].tolist(), run.hit_tokens[:3].tolist(), round(run.hit_rate(), 3)
        ([3, 3, 3], [0, 2, 2], 0.662)
    """

    policy: Policy
    capacity: int
    hit_units: np.ndarray
    hit_tokens: np.ndarray
    units: np.ndarray
    tokens: np.ndarray
    evicted: np.ndarray

    def to_xarray(self) -> "xr.Dataset":
        """Of each request: what was asked, found and evicted for it."""
        titles = {
            "tokens": ("token", "tokens of the prompt"),
            "hit_tokens": ("token", "of them, found"),
            "units": ("1", "whole units of the prompt"),
            "hit_units": ("1", "of them, found"),
            "evicted": ("1", "units that went for it"),
        }
        return dataset(
            {name: ("request", getattr(self, name), *title) for name, title in titles.items()},
            policy=self.policy,
            capacity=self.capacity,
        )

    def hit_rate(self, of: Measure = "tokens", *, first: int = 0) -> float:
        """The share of prompts that was found.

        Args:
            of: what it is a share of.
            first: requests at the start that are left out.

        Raises:
            InputError: another word, or nothing left to speak of.
        """
        checked_measure(of)
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
        InputError: a request longer than the cache, a place that the table does not have; OPT or
            RELEASED, where whole nodes go.

    Examples:
        >>> from fluidkv.prefix import Policy, loop, run_cache, trie_of
        >>> trie = trie_of(loop(0, capacity=6)[1])
        >>> [round(run_cache(trie, capacity, Policy.LRU).hit_rate(), 2) for capacity in (6, 7)]
        [0.66, 0.99]
    """
    asked = list(range(len(trie))) if order is None else places(order, len(trie))
    if priorities is not None and len(priorities) != len(trie):
        raise InputError("priorities", f"{len(priorities)} entries", f"{len(trie)}, one a request")
    cache: DrawnNodes | NodeCache | TraceCache
    if trie.granularity.nodes and policy.draws:
        cache = DrawnNodes(trie, capacity, policy, seed)
    elif trie.granularity.nodes:
        cache = NodeCache(trie, capacity, policy)
    else:
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


def places(order: Iterable[int], requests: int) -> list[int]:
    """Requests by their place in a table of so many.

    Raises:
        InputError: none, or a place that the table does not have.
    """
    found = [count("order", place, least=0, most=requests - 1) for place in order]
    if not found:
        raise InputError("order", found, "at least one request")
    return found


def checked_measure(of: Measure) -> Measure:
    """Raises: InputError: another word."""
    if of not in ("tokens", "units"):
        raise InputError("of", of, "'tokens' or 'units'")
    return of
