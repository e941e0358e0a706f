"""Caches of whole nodes against SGLang's tree, and those that draw against its literal form."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.prefix import Policy, Prompts
from fluidkv.prefix.drawn_nodes import Calls, NodeCache, calls_of, run_nodes
from fluidkv.prefix.drawn_nodes import Node as Drawn
from fluidkv.prefix.pieces import Content, Piece, joined, length
from fluidkv.prefix.radix.reference import Node, RadixTree
from fluidkv.prefix.radix.tree import FastRadixTree
from fluidkv.prefix.radix.values import POLICIES

Prefix = tuple[tuple[int, int], ...]


def _prompts(seed: int, requests: int = 60) -> Prompts:
    """Prompts that branch, begin each other and come again; some answers go on in prompts."""
    rng = random.Random(seed)
    known: list[Content] = [()]
    prompts, outputs = [], []
    for _ in range(requests):
        begin = rng.choice(known)
        own = Piece(rng.randrange(8), rng.randrange(2), rng.randrange(1, 7))
        prompt = joined((*begin, own))
        prompts.append(prompt if length(prompt) < 20 else (own,))
        outputs.append((Piece(100 + rng.randrange(3), 0, rng.randrange(1, 4)),))
        known += [prompts[-1], joined((*prompts[-1], *outputs[-1]))]
    return Prompts(prompts, outputs)


def _rows(calls: Calls) -> Iterable[tuple[int, int]]:
    """Rows in the order in which they are asked for, and what each request has asked before."""
    for request in range(calls.requests):
        yield request, 0
        if calls.answers:
            yield calls.requests + request, calls.trie.units[request]


@pytest.mark.parametrize("page", [1, 2])
@pytest.mark.parametrize("answers", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
def test_nodes_are_those_of_sglangs_tree(policy: Policy, answers: bool, page: int) -> None:
    for seed in range(12):
        prompts = _prompts(seed)
        calls = calls_of(prompts, page, answers=answers)
        contents = (*prompts.prompts, *prompts.paths)
        units = calls.trie.longest + seed
        cache = NodeCache(calls.trie, units, policy)
        tree = FastRadixTree(page, policy)
        for row, inserted in _rows(calls):
            found = tree.match(contents[row])
            tree.lock(found.node)
            before = tree.total
            tree.evict(calls.trie.units[row] * page - found.length + before - units * page)
            gone = before - tree.total
            tree.insert(contents[row], inserted=inserted * page)
            tree.unlock(found.node)
            assert cache.row(row, inserted=inserted) * page == found.length
            assert (cache.gone * page, cache.total * page) == (gone, tree.total)


@dataclass
class _Watched:
    """A cache that draws, beside the literal tree: each node drawn is one of its leaves."""

    calls: Calls
    contents: tuple[Content, ...]
    cache: NodeCache
    tree: RadixTree = field(default_factory=RadixTree)
    kept: set[Prefix] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._draw, self.cache._drawn = self.cache._drawn, self.drawn

    def drawn(self) -> Drawn:
        """What the cache draws, looked at and taken out of the literal tree, too."""
        leaves = {_told(leaf): leaf for leaf in self.tree._all() if not leaf.children}
        may_go = {told for told in leaves if told not in self.kept}
        assert {self.known(node) for node in self.cache._leaves} == may_go
        node = self._draw()
        leaf = leaves[self.known(node)]
        assert leaf.parent is not None
        leaf.parent.children.remove(leaf)
        return node

    def known(self, node: Drawn) -> Prefix:
        """The tokens down to a node's end, from a row that goes through it."""
        last, trie = node.stretches[-1], self.calls.trie
        row = next(row for row, path in enumerate(trie.paths) if last in path)
        end = trie.before[last] + trie.size[last]
        return next(prefix for prefix in _prefixes(self.contents[row]) if len(prefix) == end)


@pytest.mark.parametrize("policy", [Policy.RLT, Policy.RANDOM])
@pytest.mark.parametrize("answers", [False, True])
def test_drawn_nodes_are_leaves_of_the_literal_tree(policy: Policy, answers: bool) -> None:
    """Without marks (as sets of prefixes) and off the path; and all such leaves may be drawn."""
    for seed in range(12):
        prompts = _prompts(seed)
        calls = calls_of(prompts, answers=answers)
        contents = (*prompts.prompts, *prompts.paths)
        units = calls.trie.longest + seed
        watched = _Watched(calls, contents, NodeCache(calls.trie, units, policy, seed))
        marked: set[Prefix] = set()
        for row, inserted in _rows(calls):
            path = _prefixes(contents[row])
            if policy is Policy.RLT:
                marked = marked | path if len(marked | path) <= units else path
            watched.kept = marked | path
            watched.tree.match(contents[row])
            watched.cache.row(row, inserted=inserted)
            watched.tree.insert(contents[row])
            assert watched.cache.total == watched.tree.total <= units


def _prefixes(of: Content) -> set[Prefix]:
    told = [(piece.segment, piece.start + i) for piece in of for i in range(piece.length)]
    return {tuple(told[:end]) for end in range(1, len(told) + 1)}


def _told(node: Node) -> Prefix:
    whole = joined(piece for each in reversed(list(node.path())) for piece in each.key)
    return max(_prefixes(whole), key=len)


def test_draws_follow_the_seed() -> None:
    prompts = Prompts([(Piece(i % 5, 0, 1),) for i in range(400)], [(Piece(9, 0, 1),)] * 400)
    calls = calls_of(prompts)
    runs = [run_nodes(calls, 4, Policy.RANDOM, seed=seed) for seed in (0, 0, 1)]
    assert (runs[0].hit_tokens == runs[1].hit_tokens).all()
    assert (runs[0].hit_tokens != runs[2].hit_tokens).any()


def test_whole_nodes_overshoot() -> None:
    """One token is wanted, and a node of five goes."""
    rows = [(Piece(0, 0, 5),), (Piece(1, 0, 5),), (Piece(2, 0, 1),)]
    prompts = Prompts(rows, [(Piece(9, 0, 1),)] * 3)
    assert run_nodes(calls_of(prompts), 10, Policy.LRU).evicted.tolist() == [0, 0, 5]


def test_a_request_longer_than_the_cache_is_refused() -> None:
    calls = calls_of(_prompts(0))
    with pytest.raises(InputError, match="capacity: got 1; allowed: at least"):
        run_nodes(calls, 1, Policy.LRU)
    with pytest.raises(InputError, match="policy: got 'opt'"):
        run_nodes(calls, 100, Policy.OPT)
    assert np.sum(run_nodes(calls, calls.trie.total, Policy.LRU).evicted) == 0
