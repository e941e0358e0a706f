"""Eviction in an order: a heap of leaves, the lowest key first.

Units of a stretch that were loaded at once share their key, and so many of them go at once: the
units of a leaf's last load, as many as are wanted. Cost of a request: its stretches, and a heap's
logarithm for each load of a stretch that goes; tokens cost nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

from fluidkv.prefix.on_trie.held import Held
from fluidkv.prefix.on_trie.trie import Trie
from fluidkv.prefix.policies import Policy, key

NEVER = 1 << 62
"""The next use of what nobody asks for again."""

Gone = tuple[int, int, int]
"""(stretch, its first unit that went, units), from the end of the stretch."""


@dataclass(eq=False)
class _Load:
    """Units of a stretch that came at once: when, after how many requests for it."""

    units: int
    born: int
    uses: int
    priority: int


class _Leaf(NamedTuple):
    used: int
    born: int
    hits: int
    priority: int


@dataclass(eq=False)
class Ordered:
    """The leaves of a cache in the order of a policy that draws nothing.

    Args:
        order: for OPT: the requests that will come.
        record: keep `gone`.

    Fields:
        gone: what went for the last request, in order.
    """

    held: Held
    policy: Policy
    order: Sequence[int] = ()
    record: bool = False
    gone: list[Gone] = field(default_factory=list, init=False)
    _heap: list[tuple[tuple[int, ...], int, int]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        stretches = len(self.held.units)
        self._now = -1
        self._used, self._uses, self._version = ([0] * stretches for _ in range(3))
        self._next = [NEVER] * stretches
        self._loads: list[list[_Load]] = [[] for _ in range(stretches)]
        self._future = next_uses(self.held.trie, self.order) if self.policy is Policy.OPT else None

    def make_room(self, path: tuple[int, ...], hits: int, tip: int, short: int) -> None:
        """Units go, as many as a request is short of; none of its path, which has `hits` units."""
        self._now += 1
        self._version[tip] += 1  # of the path, only its tip can be a leaf
        self.gone, held = [], self.held
        while short > 0:
            _, leaf, version = heappop(self._heap)
            if version != self._version[leaf]:
                continue
            loads = self._loads[leaf]
            units = min(loads[-1].units, short)
            if self.record:
                self.gone.append((leaf, held.units[leaf] - units, units))
            short -= units
            loads[-1].units -= units
            if loads[-1].units == 0:
                loads.pop()
            above = held.drop(leaf, units)
            if held.units[leaf]:
                self._push(leaf)
            elif above is not None and above != tip:
                self._push(above)

    def used(self, path: tuple[int, ...], loaded: Sequence[int], priority: int) -> None:
        """A request asked for all stretches of its path; of each, so many units were loaded."""
        now = self._now
        for place, (stretch, units) in enumerate(zip(path, loaded, strict=True)):
            for load in self._loads[stretch]:
                load.priority = max(load.priority, priority)
            if units:
                self._loads[stretch].append(_Load(units, now, self._uses[stretch], priority))
            self._uses[stretch] += 1
            self._used[stretch] = now
            if self._future is not None:
                self._next[stretch] = self._future[now][place]
        if path and self.held.children[path[-1]] == 0:
            self._push(path[-1])

    def _push(self, leaf: int) -> None:
        self._version[leaf] += 1
        heappush(self._heap, (self._key(leaf), leaf, self._version[leaf]))

    def _key(self, leaf: int) -> tuple[int, ...]:
        used = self._used[leaf]
        if self.policy is Policy.OPT:
            return -self._next[leaf], used
        if self.policy is Policy.RELEASED:  # requests one by one: released when used
            return (used,)
        last = self._loads[leaf][-1]
        hits = self._uses[leaf] - last.uses
        return key(self.policy, _Leaf(used, last.born, hits, last.priority))


def next_uses(trie: Trie, order: Sequence[int]) -> list[list[int]]:
    """For each request of an order and each stretch of its path: which request uses it next."""
    last = [NEVER] * len(trie.size)
    found: list[list[int]] = [[] for _ in order]
    for place in range(len(order) - 1, -1, -1):
        path = trie.paths[order[place]]
        found[place] = [last[stretch] for stretch in path]
        for stretch in path:
            last[stretch] = place
    return found
