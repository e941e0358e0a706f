"""A cache that evicts whole nodes, asked by the requests of a trie: SGLang's tree.

A request matches, what it lacks is made room for, and all of it is inserted. Meanwhile the matched
path is locked. Nodes are as long as the requests made them, so more goes than is needed.
"""

from dataclasses import dataclass, field

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie.cache import capacity_units
from fluidkv.prefix.on_trie.trie import Trie
from fluidkv.prefix.policies import Policy
from fluidkv.prefix.radix.tree import FastRadixTree
from fluidkv.prefix.radix.values import Tree


@dataclass(eq=False)
class NodeCache:
    """As `cache.TraceCache`, with nodes in place of units.

    Args:
        trie: what there is to ask for.
        capacity: tokens; whole pages of them are used.
        policy: one that SGLang's tree has.
        tree: the tree, empty; None: a fast one.

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
    tree: Tree | None = None
    evicted: int = field(default=0, init=False)
    """Units that went for the last request, needed or not."""

    def __post_init__(self) -> None:
        if not self.trie.granularity.nodes:
            raise InputError("granularity", self.trie.granularity, "whole nodes")
        self.units = capacity_units(self.trie, self.capacity)
        page = self.trie.granularity.page
        self._tree = FastRadixTree(page, self.policy) if self.tree is None else self.tree

    @property
    def total(self) -> int:
        """Units cached."""
        return self._tree.total // self.trie.granularity.page

    def found(self, request: int) -> int:
        """How many of its units, from the first, are cached now."""
        return self._tree.found(self.trie.contents[request]) // self.trie.granularity.page

    def request(self, request: int, priority: int = 0) -> int:
        """Serves it, and caches all of it; how many of its units, from the first, were there."""
        tree, page = self._tree, self.trie.granularity.page
        content = self.trie.contents[request]
        node, found = tree.match(content)
        tree.lock(node)
        short = (self.trie.units[request] - self.units) * page - found + tree.total
        gone = tree.evict(short) if short > 0 else []
        self.evicted = sum(each.length for each in gone) // page
        tree.unlock(node)
        tree.insert(content, priority)
        return found // page
