"""How much of each stretch of a trie is cached: a number for each, always from its beginning."""

from dataclasses import dataclass, field
from typing import NamedTuple

from fluidkv.prefix.on_trie.trie import ROOT, Trie


class Found(NamedTuple):
    """How much of a path is cached, and the last stretch that has some of it."""

    hits: int
    tip: int


@dataclass(eq=False)
class Held:
    """A set of units closed under beginnings.

    Fields:
        units: (stretch,), cached of each.
        children: (stretch,), those below it of which something is cached. None, and some units of
            its own: it is a leaf, which ends with the one unit that could go.
        total: units of all.
    """

    trie: Trie
    units: list[int] = field(init=False)
    children: list[int] = field(init=False)
    total: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.units = [0] * len(self.trie.size)
        self.children = [0] * len(self.trie.size)

    def found(self, path: tuple[int, ...]) -> Found:
        """The longest cached beginning of a path."""
        hits, tip = 0, ROOT
        for stretch in path:
            cached = self.units[stretch]
            if cached == 0:
                break
            hits, tip = hits + cached, stretch
            if cached < self.trie.size[stretch]:
                break
        return Found(hits, tip)

    def drop(self, leaf: int, units: int) -> int | None:
        """Units go from a leaf's end; the stretch above it, if that is a leaf now."""
        self.units[leaf] -= units
        self.total -= units
        if self.units[leaf]:
            return None
        above = self.trie.parent[leaf]
        self.children[above] -= 1
        return above if self.children[above] == 0 and above != ROOT else None

    def load(self, stretch: int) -> int:
        """All of a stretch comes; how many units it lacked."""
        lacked = self.trie.size[stretch] - self.units[stretch]
        if lacked == self.trie.size[stretch]:
            self.children[self.trie.parent[stretch]] += 1
        self.units[stretch] += lacked
        self.total += lacked
        return lacked
