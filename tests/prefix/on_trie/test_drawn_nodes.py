"""Nodes that go by lot: each is a leaf of the literal tree, and all that may go may be drawn."""

from collections import Counter
from dataclasses import dataclass, field

import pytest

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie.drawn_nodes import ChainNode, DrawnNodes
from fluidkv.prefix.on_trie.run import run_cache
from fluidkv.prefix.on_trie.trie import trie_of
from fluidkv.prefix.pieces import Content, Piece, joined, tokens
from fluidkv.prefix.policies import Granularity, Policy
from fluidkv.prefix.prompts import Prompts
from fluidkv.prefix.radix.reference import Node, RadixTree
from tests.prefix.cases import case

Prefix = tuple[tuple[int, int], ...]


@dataclass
class _Watched:
    """A cache that draws, beside the literal tree, from which the same nodes go."""

    cache: DrawnNodes
    tree: RadixTree
    kept: set[Prefix] = field(default_factory=set)
    went: int = 0

    def __post_init__(self) -> None:
        self._draw, self.cache._drawn = self.cache._drawn, self.drawn

    def drawn(self) -> ChainNode:
        """What the cache draws, looked at and taken out of the literal tree, too."""
        leaves = {_told(leaf): leaf for leaf in self.tree._all() if not leaf.children}
        may_go = {told for told in leaves if told not in self.kept}
        assert {self.known(node) for node in self.cache._leaves} == may_go
        node = self._draw()
        leaf = leaves[self.known(node)]
        assert leaf.parent is not None
        leaf.parent.children.remove(leaf)
        self.went += 1
        return node

    def known(self, node: ChainNode) -> Prefix:
        """The tokens down to a node's end, from a request that goes through it."""
        last, trie = node.stretches[-1], self.cache.trie
        row = next(row for row, path in enumerate(trie.paths) if last in path)
        end = (trie.before[last] + trie.size[last]) * trie.granularity.page
        return tuple(tokens(trie.contents[row]))[:end]


@pytest.mark.parametrize("policy", [Policy.RLT, Policy.RANDOM])
def test_drawn_nodes_are_leaves_of_the_literal_tree(policy: Policy) -> None:
    """Without marks, as sets of prefixes, and off the path; and each such leaf may be drawn."""
    went = 0
    for seed in range(60):
        of = case(seed, nodes=True)
        page = of.trie.granularity.page
        watched = _Watched(DrawnNodes(of.trie, of.capacity, policy, seed), RadixTree(page))
        marked: set[Prefix] = set()
        for request in of.order:
            content = of.trie.contents[request]
            path = _pages(content, page)
            if policy is Policy.RLT:
                marked = marked | path if len(marked | path) <= watched.cache.units else path
            watched.kept = marked | path
            match = watched.tree.match(content)
            assert watched.cache.found(request) * page == match.length
            assert watched.cache.request(request) * page == match.length
            watched.tree.insert(content)
            assert watched.cache.total * page == watched.tree.total
            assert watched.cache.total <= watched.cache.units
        went += watched.went
    assert went > 300


def _pages(of: Content, page: int) -> set[Prefix]:
    told = tuple(tokens(of))
    return {told[:end] for end in range(page, len(told) + 1, page)}


def _told(node: Node) -> Prefix:
    return tuple(tokens(joined(p for each in reversed(list(node.path())) for p in each.key)))


def _prompts(order: list[int], tokens: int = 1) -> Prompts:
    return Prompts([(Piece(i, 0, tokens),) for i in order], [(Piece(9, 0, 1),)] * len(order))


def test_leaves_are_drawn_alike_however_long() -> None:
    prompts = Prompts([(Piece(i, 0, 1 + 2 * i),) for i in range(4)], [(Piece(9, 0, 1),)] * 4)
    trie = trie_of(prompts, Granularity(nodes=True))
    first: Counter[int] = Counter()
    for seed in range(900):
        cache = DrawnNodes(trie, 9, Policy.RANDOM, seed)
        for request in range(3):
            cache.request(request)
        first[cache._drawn().stretches[0]] += 1
    assert len(first) == 3
    assert all(abs(count - 300) < 5 * 14.2 for count in first.values())  # 5 sigma


def test_lots_follow_the_seed_through_a_run() -> None:
    trie = trie_of(_prompts([i % 5 for i in range(400)]), Granularity(nodes=True))
    runs = [run_cache(trie, 4, Policy.RANDOM, seed=seed) for seed in (0, 0, 1)]
    assert (runs[0].hit_tokens == runs[1].hit_tokens).all()
    assert (runs[0].hit_tokens != runs[2].hit_tokens).any()


def test_other_policies_and_units_are_refused() -> None:
    trie = trie_of(_prompts([0, 1], 3), Granularity(nodes=True))
    with pytest.raises(InputError, match="policy: got 'lru'"):
        DrawnNodes(trie, 10, Policy.LRU)
    with pytest.raises(InputError, match="capacity: got 2"):
        DrawnNodes(trie, 2, Policy.RLT)
    with pytest.raises(InputError, match="granularity"):
        DrawnNodes(trie_of(_prompts([0])), 10, Policy.RLT)
