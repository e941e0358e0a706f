"""A prefix cache written out literally: a set of prefixes, asked for one token at a time.

A token of a tree is the whole prefix that ends with it. A cached prefix has its beginnings cached,
so the leaves, and only they, can go. This file is the meaning of `cache`; it is not fast.

Source: Routing, section 3.2 (a query asks for every token of its complete path; the longest cached
prefix is hit) and Algorithm 1, lines 4 to 17.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import count as ticks
from typing import NamedTuple

from fluidkv.errors import InputError
from fluidkv.prefix.pieces import Content, tokens
from fluidkv.prefix.policies import Granularity, Policy, key

Prefix = tuple[Hashable, ...]
"""A unit (a token, a page) and all before it."""

Draw = Callable[[Sequence[Prefix]], Prefix]
"""Chooses one of the candidates, for the policies that draw."""


@dataclass
class Stamps:
    """What policies know of a cached unit; times are ticks of one clock, one a unit asked for."""

    used: int
    born: int
    hits: int
    priority: int
    released: int = -1


class Asked(NamedTuple):
    """What became of a request: leading units found, and what went, in order."""

    hits: int
    evicted: tuple[Prefix, ...]


@dataclass(eq=False)
class LiteralCache:
    """A cache of at most `capacity` units.

    Args:
        draw: for policies that draw.
        future: for OPT: all requests that this cache will be asked for, in order.
    """

    capacity: int
    policy: Policy
    draw: Draw | None = None
    future: Sequence[Prefix] = ()
    held: dict[Prefix, Stamps] = field(default_factory=dict)
    marked: set[Prefix] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._tick = ticks()
        self._number = -1

    def request(self, path: Prefix, priority: int = 0) -> Asked:
        """One request: its units from the first to the last; it holds on to all of them.

        Raises:
            InputError: it is longer than the cache.
        """
        if len(path) > self.capacity:
            allowed = f"at least the {len(path)} units of a request"
            raise InputError("capacity", self.capacity, allowed)
        self._number += 1
        hits, evicted = 0, []
        for end in range(1, len(path) + 1):
            unit, now = path[:end], next(self._tick)
            self.mark(unit)
            if unit in self.held:
                hits += 1
                stamps = self.held[unit]
                stamps.used, stamps.hits = now, stamps.hits + 1
                stamps.priority = max(stamps.priority, priority)
                continue
            if len(self.held) == self.capacity:
                leaf = self.choose(path)
                del self.held[leaf]
                evicted.append(leaf)
            self.held[unit] = Stamps(now, now, 1, priority)
        for end in range(len(path), 0, -1):
            self.held[path[:end]].released = next(self._tick)
        return Asked(hits, tuple(evicted))

    def mark(self, unit: Prefix) -> None:
        """Line 7; and lines 8 and 9, mended: a new phase keeps the marks of the path so far.

        With them, what is marked is closed under beginnings, and all of it is cached but the unit
        asked for. So a full cache has something without a mark, what is behind it has none either,
        and a leaf without a mark exists; it is not of the path, which is marked as far as cached.
        """
        self.marked.add(unit)
        if len(self.marked) == self.capacity + 1:
            self.marked = {unit[:end] for end in range(1, len(unit) + 1)}

    def choose(self, path: Prefix) -> Prefix:
        """What goes so that a unit of the path can come."""
        if self.policy is Policy.RELEASED:  # knows no tree
            return min(self._free(self.held, path), key=lambda unit: self.held[unit].released)
        inner = {unit[:-1] for unit in self.held}
        leaves = [unit for unit in self.held if unit not in inner]
        if self.policy.draws:
            assert self.draw is not None
            marks = self.policy is Policy.RLT
            return self.draw(
                [leaf for leaf in leaves if leaf not in self.marked]
                if marks
                else self._free(leaves, path)
            )
        return min(self._free(leaves, path), key=self._key)

    def _free(self, units: Sequence[Prefix] | dict[Prefix, Stamps], path: Prefix) -> list[Prefix]:
        return [unit for unit in units if path[: len(unit)] != unit]

    def _key(self, leaf: Prefix) -> tuple[float, ...]:
        if self.policy is not Policy.OPT:
            return key(self.policy, self.held[leaf])
        later = enumerate(self.future[self._number + 1 :])
        next_use = (wait for wait, path in later if path[: len(leaf)] == leaf)
        return -next(next_use, math.inf), self.held[leaf].used


def units(of: Content, granularity: Granularity) -> Prefix:
    """A sequence in the units of a cache: each page is the tokens in it."""
    said, page = list(tokens(of)), granularity.page
    found = tuple(tuple(said[at : at + page]) for at in range(0, len(said), page))
    return found[: granularity.units(len(said))]
