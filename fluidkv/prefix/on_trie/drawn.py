"""Eviction by lot: uniformly among the leaves, or among those without a mark (RLT).

Every leaf has one unit that could go, the last of its stretch, and while no stretch is used up the
leaves stay the same. So the lots of many evictions fall at once, as a number for each leaf. A leaf
that gets more than it has hands them on: to its parent if that is a leaf by then, else they are
thrown again. Only the order among such leaves matters, and every order of them is as likely.

Cost: a request that evicts passes over the leaves once, and again for lots thrown again; it sorts
the lots of leaves that are used up. A new phase costs nothing for leaves that had no mark.

Source: Routing, Algorithm 1; the marks as in `reference`.
"""

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

import numpy as np

from fluidkv.prefix.on_trie.held import Held
from fluidkv.prefix.on_trie.ordered import Gone

NO_SLOT = -1


@dataclass(eq=False)
class Drawn:
    """The leaves of a cache that lots are drawn among.

    Args:
        capacity: units.
        marks: RLT; else all leaves are drawn among.
        record: keep `gone`.

    Fields:
        gone: what went for the last request, in an order in which it can go.
    """

    held: Held
    capacity: int
    marks: bool
    seed: int
    record: bool = False
    gone: list[Gone] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        stretches = len(self.held.units)
        self._random = np.random.default_rng(self.seed)
        self._slot = [NO_SLOT] * stretches
        self._leaves: list[int] = []  # by slot
        self._left = np.zeros(stretches, np.int64)  # units of each slot's leaf
        self._marked_leaves: dict[int, None] = {}
        self._phase = 0
        self._marked = [-1] * stretches  # the phase that marked it
        self._marks = 0  # units marked in this phase

    def settle(self, path: tuple[int, ...]) -> None:
        """Writes down how much is left of a path, before it is looked at."""
        for stretch in path:
            slot = self._slot[stretch]
            if slot != NO_SLOT:
                self.held.units[stretch] = int(self._left[slot])

    def make_room(self, path: tuple[int, ...], hits: int, tip: int, short: int) -> None:
        """Units go, as many as a request is short of; none of its path, which has `hits` units."""
        self.gone = []
        self._marked_leaves.pop(tip, None)
        if self._slot[tip] != NO_SLOT:
            self._leave(self._slot[tip])
        if self.marks:
            self._mark(path, hits, tip, short)
        else:
            self._evict(short, tip)

    def used(self, path: tuple[int, ...], loaded: object, priority: object) -> None:
        """A request was served; where its path ends, there may be a leaf."""
        if path and self.held.children[path[-1]] == 0:
            self._enter(path[-1])

    def _mark(self, path: tuple[int, ...], hits: int, tip: int, short: int) -> None:
        """All of the path; in between, a new phase may begin."""
        size, phase = self.held.trie.size, self._phase
        known = sum(size[stretch] for stretch in path if self._marked[stretch] == phase)
        units = sum(size[stretch] for stretch in path)
        before = self.capacity - self._marks + known  # units of the path, if it is longer
        late = min(short, max(0, units - max(before, hits)))  # evictions in the new phase
        self._evict(short - late, tip)
        if units > before:
            self._phase += 1
            self._marks = known = units
            leaves, self._marked_leaves = self._marked_leaves, {}
            for leaf in leaves:
                self._enter(leaf)
        self._evict(late, tip)
        self._marks += units - known
        for stretch in path:
            self._marked[stretch] = self._phase

    def _evict(self, short: int, tip: int) -> None:
        while short > 0:
            n = len(self._leaves)
            if short > 4 * n:  # cheaper then; the same law
                lots = self._random.multinomial(short, np.full(n, 1 / n))
            else:
                lots = np.bincount(self._random.integers(n, size=short), minlength=n)
            used_up = np.flatnonzero(lots >= self._left[:n])
            several = lots[used_up]
            lots[used_up] = 0
            if self.record:
                for slot in np.flatnonzero(lots).tolist():
                    self._say(slot, int(lots[slot]))
            self._left[:n] -= lots
            again = self._hand_on(used_up.tolist(), several, tip) if used_up.size else 0
            self.held.total -= short - again
            short = again

    def _hand_on(self, slots: list[int], lots: np.ndarray, tip: int) -> int:
        """Lots of slots whose leaf they use up; how many of them hit nobody.

        Those that the leaf has no units for go to the leaf that follows it there, if one does.
        """
        places = self._random.permutation(lots.sum())  # of each lot among all of these
        falls = [np.sort(part) for part in np.split(places, np.cumsum(lots)[:-1])]
        ends = []  # (when a leaf is used up, whose lots, how many of them by then)
        for place, slot in enumerate(slots):
            had = int(self._left[slot])
            ends.append((int(falls[place][had - 1]), place, had))
        heapify(ends)
        again = 0
        while ends:
            _, place, had = heappop(ends)
            slot, rest = slots[place], len(falls[place]) - had
            self._say(slot, int(self._left[slot]))
            units = self._left[slot] = self._follow(slot, tip)
            if 0 < units <= rest:
                had += units
                heappush(ends, (int(falls[place][had - 1]), place, had))
            elif units:
                self._say(slot, rest)
                self._left[slot] -= rest
            else:
                again += rest
        for slot in reversed(slots):
            if self._left[slot] == 0:
                self._leave(slot)
        return again

    def _follow(self, slot: int, tip: int) -> int:
        """The leaf of a slot is used up; the one above may follow: how many units are there now."""
        leaf = self._leaves[slot]
        self.held.units[leaf], self._slot[leaf] = 0, NO_SLOT
        above = self.held.drop(leaf, 0)
        if above is None or above == tip:
            return 0
        if self._is_marked(above):
            self._marked_leaves[above] = None
            return 0
        self._leaves[slot], self._slot[above] = above, slot
        return self.held.units[above]

    def _say(self, slot: int, units: int) -> None:
        if self.record and units:
            self.gone.append((self._leaves[slot], int(self._left[slot]) - units, units))

    def _is_marked(self, leaf: int) -> bool:
        return self.marks and self._marked[leaf] == self._phase

    def _enter(self, leaf: int) -> None:
        if self._is_marked(leaf):
            self._marked_leaves[leaf] = None
            return
        slot = len(self._leaves)
        self._leaves.append(leaf)
        self._slot[leaf], self._left[slot] = slot, self.held.units[leaf]

    def _leave(self, slot: int) -> None:
        """The last one takes its place."""
        leaf, last = self._leaves[slot], self._leaves.pop()
        if self._slot[leaf] == slot:
            self.held.units[leaf] = int(self._left[slot])
            self._slot[leaf] = NO_SLOT
        if slot != len(self._leaves):
            self._leaves[slot], self._slot[last] = last, slot
            self._left[slot] = self._left[len(self._leaves)]
