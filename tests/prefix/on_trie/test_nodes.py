"""A trace through SGLang's tree: the kernel's as the literal one, and beside single tokens."""

import copy
import pickle

import pytest

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie import nodes
from fluidkv.prefix.on_trie.cache import TraceCache
from fluidkv.prefix.on_trie.nodes import NodeCache
from fluidkv.prefix.on_trie.run import run_cache
from fluidkv.prefix.on_trie.trie import trie_of
from fluidkv.prefix.pieces import Piece
from fluidkv.prefix.policies import Granularity, Policy
from fluidkv.prefix.prompts import Prompts
from fluidkv.prefix.radix.reference import RadixTree
from fluidkv.prefix.radix.values import POLICIES
from tests.prefix.cases import case


@pytest.mark.parametrize("in_python", [True, False])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_trace_through_the_kernel_s_tree_is_one_through_the_literal_tree(
    policy: Policy, in_python: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "as_python", lambda *_: in_python)
    went = 0
    for seed in range(60):
        of = case(seed, nodes=True)
        page = of.trie.granularity.page
        cache, tree = NodeCache(of.trie, of.capacity, policy), RadixTree(page, policy)
        for request in of.order:
            text, priority = of.trie.contents[request], of.priorities[request]
            assert cache.found(request) * page == tree.found(text)
            node, found = tree.match(text)
            tree.lock(node)
            gone = tree.evict(
                of.trie.units[request] * page - found + tree.total - cache.units * page
            )
            tree.unlock(node)
            tree.insert(text, priority)
            assert cache.request(request, priority) * page == found
            assert cache.evicted * page == sum(leaf.length for leaf in gone)
            assert cache.total * page == tree.total <= cache.units * page
            assert cache.found(request) == of.trie.units[request]
            went += cache.evicted
    assert went > 500


def test_leaves_of_one_token_go_as_tokens_do() -> None:
    """The loop that defeats LRU: a shared beginning, then one token each, one more than fit."""
    said = [(Piece(0, 0, 2), Piece(leaf, 0, 1)) for leaf in range(1, 6)]
    prompts = Prompts(said, [(Piece(9, 0, 1),)] * 5)
    order = list(range(5)) * 6
    whole = run_cache(trie_of(prompts, Granularity(nodes=True)), 6, Policy.LRU, order=order)
    tokens = run_cache(trie_of(prompts), 6, Policy.LRU, order=order)
    assert whole.hit_units.tolist() == tokens.hit_units.tolist() == [0] + [2] * 29
    assert whole.evicted.tolist() == tokens.evicted.tolist()


def test_policies_that_the_tree_does_not_have_are_refused() -> None:
    trie = trie_of(Prompts([(Piece(0, 0, 2),)], [(Piece(1, 0, 1),)]), Granularity(nodes=True))
    for policy in (Policy.OPT, Policy.RELEASED):
        with pytest.raises(InputError, match="policy"):
            run_cache(trie, 10, policy)
    with pytest.raises(InputError, match="capacity"):
        run_cache(trie, 1, Policy.LRU)
    with pytest.raises(InputError, match="granularity"):
        TraceCache(trie, 10, Policy.LRU)
    with pytest.raises(InputError, match="granularity"):
        NodeCache(case(0).trie, 10, Policy.LRU)


@pytest.mark.parametrize("in_python", [True, False])
def test_a_copy_goes_on_by_itself(in_python: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "as_python", lambda *_: in_python)
    of = case(3, nodes=True)
    cache = NodeCache(of.trie, of.capacity, Policy.LRU)
    first, *others = of.order
    cache.request(first)
    for same in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert same.total == cache.total
        whole = NodeCache(of.trie, of.capacity, Policy.LRU)
        whole.request(first)
        assert [same.request(r) for r in others] == [whole.request(r) for r in others]
