"""A cache that evicts whole nodes by lot, asked by the requests of a trie.

Nodes are those of SGLang's tree (`nodes`, `radix`), as chains of stretches: a request's new units
become one node, and a node is split where a request leaves it. SGLang itself has no such policy.

RLT on nodes is ours, as the paper's is about tokens: what a request asks for is marked, so that a
node is marked whole or not at all, and where more than the cache holds would be marked, a phase
begins with that request. Leaves without a mark are drawn, each as likely, however long.

`radix.lots` draws in the tree of a running engine. There requests overlap and lock their paths, so
a phase cannot end with what one request would mark; it ends when all that may go is marked. Here
the leaves that may go are kept beside their phase, and a lot costs nothing more; there they are
looked through for each lot, as locks come and go.
"""

from dataclasses import dataclass, field

import numpy as np

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie.cache import capacity_units
from fluidkv.prefix.on_trie.trie import Trie
from fluidkv.prefix.policies import Policy

NO_SLOT = -1


@dataclass(eq=False, slots=True)
class ChainNode:
    """Stretches from the top, and what is remembered of them.

    Fields:
        size: units.
        below: nodes that hang on it.
        phase: the last one that marked it.
        slot: its place among the leaves that may go.
    """

    stretches: list[int]
    size: int
    parent: "ChainNode | None"
    phase: int
    below: int = 0
    slot: int = NO_SLOT


@dataclass(eq=False)
class DrawnNodes:
    """As `nodes.NodeCache`, for policies that draw.

    Args:
        trie: what there is to ask for.
        capacity: tokens; whole pages of them are used.
        policy: RLT or RANDOM.
        seed: of the lots.

    Raises:
        InputError: a request longer than the cache, another policy, units that go one by one.
    """

    trie: Trie
    capacity: int
    policy: Policy
    seed: int = 0
    evicted: int = field(default=0, init=False)
    """Units that went for the last request, needed or not."""
    total: int = field(default=0, init=False)
    """Units cached."""

    def __post_init__(self) -> None:
        if not self.trie.granularity.nodes:
            raise InputError("granularity", self.trie.granularity, "whole nodes")
        if not self.policy.draws:
            raise InputError("policy", self.policy.value, "one that draws")
        self.units = capacity_units(self.trie, self.capacity)
        self._random = np.random.default_rng(self.seed)
        self._node: dict[int, ChainNode] = {}  # by stretch
        self._leaves: list[ChainNode] = []  # those that may go, but for the path of a request
        self._phase = self._marks = 0

    def found(self, request: int) -> int:
        """How many of its units, from the first, are cached now."""
        hits = 0
        for stretch in self.trie.paths[request]:
            if stretch not in self._node:
                break
            hits += self.trie.size[stretch]
        return hits

    def request(self, request: int, priority: int = 0) -> int:
        """Serves it, and caches all of it; how many of its units, from the first, were there."""
        del priority
        path, units = self.trie.paths[request], self.trie.units[request]
        hits = self.found(request)
        matched = self._matched(path)
        if self.policy is Policy.RLT:
            self._mark(matched, units)
        before = self.total
        self._evict(units - hits + self.total - self.units, matched)
        self.evicted = before - self.total
        self._insert(path, matched)
        return hits

    def _matched(self, path: tuple[int, ...]) -> list[ChainNode]:
        """The nodes of the cached beginning; the last is split where it ends."""
        matched: list[ChainNode] = []
        end = -1
        for stretch in path:
            node = self._node.get(stretch)
            if node is None:
                break
            if not matched or matched[-1] is not node:
                matched.append(node)
            end = stretch
        if matched and matched[-1].stretches[-1] != end:
            matched[-1] = self._split(matched[-1], end)
        return matched

    def _split(self, node: ChainNode, end: int) -> ChainNode:
        """A new node takes the stretches down to `end`; the rest hangs on it."""
        place = node.stretches.index(end) + 1
        upper, node.stretches = node.stretches[:place], node.stretches[place:]
        size = sum(self.trie.size[stretch] for stretch in upper)
        node.size -= size
        above = ChainNode(upper, size, node.parent, node.phase, below=1)
        node.parent = above
        self._node |= dict.fromkeys(upper, above)
        return above

    def _mark(self, matched: list[ChainNode], units: int) -> None:
        marked = sum(node.size for node in matched if node.phase == self._phase)
        if self._marks + units - marked > self.units:
            self._phase += 1
            self._marks = marked = 0
            for node in {id(node): node for node in self._node.values()}.values():
                self._offer(node)
        for node in matched:
            node.phase = self._phase
        self._marks += units - marked

    def _evict(self, short: int, matched: list[ChainNode]) -> None:
        """Leaves go, none of the matched ones, until so many units are free.

        Marked units and those that a request lacks are at most as many as the cache holds. So what
        is not marked is enough.
        """
        last = matched[-1] if matched else None
        if last is not None:  # of the path, only its end can be a leaf
            self._take_out(last)
        while short > 0:
            leaf = self._drawn()
            short -= leaf.size
            self._take_out(leaf)
            self.total -= leaf.size
            for stretch in leaf.stretches:
                del self._node[stretch]
            if leaf.parent is not None:
                leaf.parent.below -= 1
                if leaf.parent is not last:
                    self._offer(leaf.parent)

    def _insert(self, path: tuple[int, ...], matched: list[ChainNode]) -> None:
        last = matched[-1] if matched else None
        rest = list(path[sum(len(node.stretches) for node in matched) :])
        if rest:
            size = sum(self.trie.size[stretch] for stretch in rest)
            leaf = ChainNode(rest, size, last, self._phase)
            if last is not None:
                last.below += 1
            self.total += size
            self._node |= dict.fromkeys(rest, leaf)
            last = leaf
        if last is not None:
            self._offer(last)

    def _offer(self, node: ChainNode) -> None:
        """It may go from now on, if it is a leaf and has no mark."""
        marked = self.policy is Policy.RLT and node.phase == self._phase
        if not node.below and not marked and node.slot == NO_SLOT:
            node.slot = len(self._leaves)
            self._leaves.append(node)

    def _take_out(self, node: ChainNode) -> None:
        """It may not go, for now or for good; the last one takes its place."""
        if node.slot != NO_SLOT:
            last = self._leaves.pop()
            if last is not node:
                self._leaves[node.slot], last.slot = last, node.slot
            node.slot = NO_SLOT

    def _drawn(self) -> ChainNode:
        return self._leaves[int(self._random.integers(len(self._leaves)))]
