"""Eviction by lot: uniformly among the leaves, or among those without a mark (RLT).

Every leaf has one unit that could go, the last of its stretch, and while no stretch is used up the
leaves stay the same. So the units of many evictions are drawn at once; the first stretch that is
used up ends the batch, its parent may become a leaf, and the rest is drawn anew. That is the same
law as one draw after the other. Cost: some nanoseconds a unit, and a pass over the leaves for each
batch, of which there are as many as requests that evict and stretches that go.

Source: Routing, Algorithm 1; the marks as in `reference`.
"""

from dataclasses import dataclass

import numpy as np

from fluidkv.prefix.held import Held
from fluidkv.prefix.ordered import Gone

NO_SLOT = -1


@dataclass(eq=False)
class Drawn:
    """The leaves of a cache that lots are drawn among.

    Args:
        capacity: units.
        marks: RLT; else all leaves are drawn among.
        one_by_one: what went is said unit by unit, in order; else by stretch.
    """

    held: Held
    capacity: int
    marks: bool
    seed: int
    one_by_one: bool = False

    def __post_init__(self) -> None:
        stretches = len(self.held.units)
        self._random = np.random.default_rng(self.seed)
        self._slot = [NO_SLOT] * stretches
        self._leaves = np.zeros(stretches, np.int64)  # the first `_number` of them
        self._left = np.zeros(stretches, np.int64)  # units of each
        self._number = 0
        self._phase = 0
        self._marked = [-1] * stretches  # the phase that marked it
        self._marks = 0  # units marked in this phase

    def settle(self, path: tuple[int, ...]) -> None:
        """Writes down how much is left of a path, before it is looked at."""
        for stretch in path:
            slot = self._slot[stretch]
            if slot != NO_SLOT:
                self.held.units[stretch] = int(self._left[slot])

    def make_room(self, path: tuple[int, ...], hits: int, tip: int, short: int) -> list[Gone]:
        """Units go, as many as a request is short of; none of its path, which has `hits` units."""
        if self._slot[tip] != NO_SLOT:
            self._leave(tip)
        if not self.marks:
            return self._evict(short, tip)
        trie = self.held.trie
        marked = [stretch for stretch in path if self._marked[stretch] == self._phase]
        known = sum(trie.size[stretch] for stretch in marked)
        units = sum(trie.size[stretch] for stretch in path)
        old = self.capacity - self._marks + known  # units of the path until a new phase
        if units <= old:
            gone = self._evict(short, tip)
            self._marks += units - known
        else:
            late = min(short, units - max(old, hits))  # evictions in the new phase
            gone = self._evict(short - late, tip)
            self._phase += 1
            self._marks = units
            self._all_but(set(path))
            gone += self._evict(late, tip)
        for stretch in path:
            self._marked[stretch] = self._phase
        return gone

    def used(self, path: tuple[int, ...], loaded: object, priority: object) -> None:
        """A request was served; where its path ends, there may be a leaf."""
        if path and not self.marks and self.held.children[path[-1]] == 0:
            self._enter(path[-1])

    def _evict(self, short: int, tip: int) -> list[Gone]:
        gone: list[Gone] = []
        while short > 0:
            n = self._number
            drawn = self._random.integers(n, size=short)
            counts = np.bincount(drawn, minlength=n)
            used_up = np.flatnonzero(counts >= self._left[:n])
            slot = NO_SLOT
            if used_up.size:
                last = [np.flatnonzero(drawn == one)[self._left[one] - 1] for one in used_up]
                slot = int(used_up[np.argmin(last)])
                drawn = drawn[: min(last) + 1]
                counts = np.bincount(drawn, minlength=n)
            gone += self._said(drawn, counts)
            self._left[:n] -= counts
            self.held.total -= drawn.size
            short -= drawn.size
            if slot != NO_SLOT:
                self._used_up(slot, tip)
        return gone

    def _used_up(self, slot: int, tip: int) -> None:
        leaf = int(self._leaves[slot])
        self._leave(leaf)
        above = self.held.drop(leaf, 0)
        if above is not None and above != tip and self._marked[above] != self._mark_now:
            self._enter(above)

    @property
    def _mark_now(self) -> int | None:
        return self._phase if self.marks else None

    def _enter(self, leaf: int) -> None:
        slot = self._number
        self._slot[leaf], self._leaves[slot], self._left[slot] = slot, leaf, self.held.units[leaf]
        self._number += 1

    def _leave(self, leaf: int) -> None:
        """The last one takes its place."""
        slot, last = self._slot[leaf], self._number - 1
        self.held.units[leaf] = int(self._left[slot])
        moved = int(self._leaves[last])
        self._slot[moved], self._leaves[slot], self._left[slot] = slot, moved, self._left[last]
        self._slot[leaf] = NO_SLOT
        self._number = last

    def _all_but(self, path: set[int]) -> None:
        """A new phase: every leaf without a mark, which is every one that is not of the path."""
        held = self.held
        for leaf, (units, children) in enumerate(zip(held.units, held.children, strict=True)):
            if units and not children and leaf not in path and self._slot[leaf] == NO_SLOT:
                self._enter(leaf)

    def _said(self, drawn: np.ndarray, counts: np.ndarray) -> list[Gone]:
        if self.one_by_one:
            left = self._left.copy()
            gone = []
            for slot in drawn.tolist():
                left[slot] -= 1
                gone.append((int(self._leaves[slot]), int(left[slot]), 1))
            return gone
        slots = np.flatnonzero(counts)
        rows = self._leaves[slots], self._left[slots] - counts[slots], counts[slots]
        return list(zip(*(row.tolist() for row in rows), strict=True))
