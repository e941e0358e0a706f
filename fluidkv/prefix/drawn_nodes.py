"""A prefix cache that evicts whole leaf nodes of a radix tree, asked by the requests of a trace.

It does what SGLang's tree does (`radix`), on the stretches of a trie: a node is a chain of cached
stretches, and it is split where a prompt leaves it. Beside SGLang's own policies it has those that
draw. A prompt is cached when its request is prefilled, its answer when it is done, so a
node ends where the prompt does.

RLT here is ours, as the paper's is about tokens: what a request asks for is marked, whole nodes
follow, and where more than the cache holds would be marked, a phase begins with that request.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from fluidkv.errors import InputError
from fluidkv.prefix.cache import capacity_units
from fluidkv.prefix.policies import Granularity, Policy, key
from fluidkv.prefix.prompts import Prompts
from fluidkv.prefix.run import CacheRun, as_run
from fluidkv.prefix.trie import Trie, trie_of


@dataclass(frozen=True, eq=False)
class Calls:
    """What requests ask of a tree of nodes.

    Fields:
        trie: the rows are prompts, and behind them, where answers are cached, prompts with answers.
        requests: how many; request r asks for row r, and then for row `requests` + r if there is.
    """

    trie: Trie
    requests: int

    @property
    def answers(self) -> bool:
        """Whether answers are cached."""
        return len(self.trie) > self.requests


def calls_of(prompts: Prompts, page: int = 1, *, answers: bool = False) -> Calls:
    """The calls of a table's prompts, in whole pages.

    Args:
        answers: whether answers are cached behind their prompts.
    """
    rows = prompts
    if answers:
        rows = Prompts([*prompts.prompts, *prompts.paths], [*prompts.outputs, *prompts.outputs])
    return Calls(trie_of(rows, Granularity(page)), len(prompts))


@dataclass(eq=False, slots=True)
class Node:
    """A chain of stretches, known by its last one.

    Fields:
        stretches: from the top.
        size: units.
        below: nodes that hang on it.
    """

    stretches: list[int]
    size: int
    parent: "Node | None"
    used: int
    born: int
    hits: int = 1
    priority: int = 0
    below: int = 0
    phase: int = -1
    slot: int = -1
    version: int = 0


@dataclass(eq=False)
class NodeCache:
    """A cache of at most `units`, empty at first; `row` is asked by the rows of a trie."""

    trie: Trie
    units: int
    policy: Policy
    seed: int = 0
    total: int = field(default=0, init=False)
    gone: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._node: dict[int, Node] = {}
        self._random = np.random.default_rng(self.seed)
        self._heap: list[tuple[tuple[int, ...], int, int, Node]] = []
        self._leaves: list[Node] = []  # that lots are drawn among
        self._time = self._phase = self._marks = self._entries = 0

    def row(self, row: int, *, inserted: int = 0) -> int:
        """Asks for a row, and caches it; how many of its units were there.

        Args:
            inserted: units that the request has asked for before; nodes that end beyond them count
                one use more.
        """
        path = self.trie.paths[row]
        matched, hits = self._match(path)
        if self.policy is Policy.RLT:
            self._mark(matched, self.trie.units[row], hits)
        before = self.total
        self._evict(self.trie.units[row] - hits + self.total - self.units, matched)
        self.gone = before - self.total
        self._insert(path, matched, inserted)
        return hits

    def _match(self, path: tuple[int, ...]) -> tuple[list[Node], int]:
        """The nodes of the cached beginning, the last split where it ends; and its units."""
        matched: list[Node] = []
        hits, end, now = 0, -1, self._tick()
        for stretch in path:
            node = self._node.get(stretch)
            if node is None:
                break
            if not matched or matched[-1] is not node:
                matched.append(node)
                node.used = now
            hits, end = hits + self.trie.size[stretch], stretch
        if matched and matched[-1].stretches[-1] != end:
            matched[-1] = self._split(matched[-1], end)
        return matched, hits

    def _split(self, node: Node, end: int) -> Node:
        """A new node takes the stretches down to `end`; the rest hangs on it."""
        place = node.stretches.index(end) + 1
        upper, node.stretches = node.stretches[:place], node.stretches[place:]
        size = sum(self.trie.size[stretch] for stretch in upper)
        node.size -= size
        above = Node(upper, size, node.parent, self._tick(), node.born, node.hits, node.priority)
        above.below, above.phase, node.parent = 1, node.phase, above
        for stretch in upper:
            self._node[stretch] = above
        self._offer(node)
        return above

    def _mark(self, matched: list[Node], units: int, hits: int) -> None:
        marked = sum(node.size for node in matched if node.phase == self._phase)
        if self._marks + units - marked > self.units:
            self._phase += 1
            self._marks = marked = 0
            path = set(map(id, matched))
            leaves = {id(node): node for node in self._node.values() if not node.below}
            for leaf in leaves.values():
                if id(leaf) not in path and leaf.slot < 0:
                    self._enter(leaf)
        for node in matched:
            node.phase = self._phase
        self._marks += units - marked

    def _evict(self, short: int, matched: list[Node]) -> None:
        """Whole leaves go, none of the matched ones, until so many units are free."""
        for node in matched:  # of these, only the last can be a leaf
            self._take_out(node)
        kept = matched[-1] if matched else None
        while short > 0:
            leaf = self._drawn() if self.policy.draws else self._lowest()
            short -= leaf.size
            self._take_out(leaf)
            self.total -= leaf.size
            for stretch in leaf.stretches:
                del self._node[stretch]
            parent = leaf.parent
            if parent is not None:
                parent.below -= 1
                if not parent.below and parent is not kept:
                    self._offer(parent)

    def _insert(self, path: tuple[int, ...], matched: list[Node], inserted: int) -> None:
        now, end = self._tick(), 0
        for node in matched:
            end += node.size
            node.used, node.hits = now, node.hits + (end > inserted)
        last = matched[-1] if matched else None
        rest = path[sum(len(node.stretches) for node in matched) :]
        if not rest:
            if last is not None:
                self._offer(last)
            return
        size = sum(self.trie.size[stretch] for stretch in rest)
        leaf = Node(list(rest), size, last, self._tick(), self._tick(), phase=self._phase)
        if last is not None:
            last.below += 1
        self.total += size
        for stretch in rest:
            self._node[stretch] = leaf
        self._offer(leaf)

    # ------------------------------------------------------------------------- leaves that may go

    def _offer(self, node: Node) -> None:
        """A leaf that may go is found by `_drawn` or `_lowest` from now on."""
        if node.below:
            return
        if self.policy.draws:
            if node.slot < 0 and (self.policy is not Policy.RLT or node.phase != self._phase):
                self._enter(node)
            return
        node.version += 1
        self._entries += 1
        heappush(self._heap, (self._key(node), self._entries, node.version, node))

    def _key(self, node: Node) -> tuple[int, ...]:
        if self.policy is Policy.RELEASED:  # requests one by one: released when used
            return (node.used,)
        return key(self.policy, node)

    def _lowest(self) -> Node:
        while True:
            _, _, version, node = heappop(self._heap)
            if version == node.version and not node.below:
                return node

    def _drawn(self) -> Node:
        return self._leaves[int(self._random.integers(len(self._leaves)))]

    def _enter(self, leaf: Node) -> None:
        leaf.slot = len(self._leaves)
        self._leaves.append(leaf)

    def _take_out(self, node: Node) -> None:
        """It is no leaf that may go, for now or for good."""
        node.version += 1
        if node.slot >= 0:
            last = self._leaves.pop()
            if last is not node:
                self._leaves[node.slot], last.slot = last, node.slot
            node.slot = -1

    def _tick(self) -> int:
        self._time += 1
        return self._time


def run_nodes(calls: Calls, capacity: int, policy: Policy, *, seed: int = 0) -> CacheRun:
    """A cache of nodes, empty at first, asked by all requests one after the other.

    Args:
        calls: from `calls_of`.
        capacity: tokens; whole pages of them are used.
        policy: what goes when it is full; not OPT, which is about units.
        seed: for policies that draw.

    Raises:
        InputError: a request longer than the cache, or OPT.
    """
    if policy is Policy.OPT:
        raise InputError("policy", policy.value, "one that does not know the future, for nodes")
    trie, requests = calls.trie, range(calls.requests)
    cache = NodeCache(trie, capacity_units(trie, capacity), policy, seed)
    found, evicted = [], []
    for request in requests:
        found.append(cache.row(request))
        gone = cache.gone
        if calls.answers:
            cache.row(calls.requests + request, inserted=trie.units[request])
            gone += cache.gone
        evicted.append(gone)
    return as_run(trie, capacity, policy, requests, found, evicted)
