"""Leaves by lot: never what is in use, marked ones last, and each of the others as likely."""

from collections import Counter
from random import Random

from fluidkv.prefix.on_trie.nodes import NodeCache
from fluidkv.prefix.on_trie.trie import trie_of
from fluidkv.prefix.pieces import content
from fluidkv.prefix.policies import Granularity, Policy
from fluidkv.prefix.prompts import Prompts
from fluidkv.prefix.radix.lots import LEAVES, Lots
from fluidkv.runs.inlined import as_objects
from fluidkv.runs.interpreted import interpreted


def _cache(seed: int, segments: list[list[list[int]]]) -> NodeCache:
    """Of requests that say these, with lots in the place of a policy; it is never full."""
    prompts = Prompts(map(content, segments), [content([[999, 1]])] * len(segments))
    cache = NodeCache(trie_of(prompts, Granularity(nodes=True)), 10**6, Policy.LRU)
    cache._kernel = interpreted(cache._kernel.__name__, {LEAVES: Lots(seed)})
    cache._state = tuple(map(as_objects, cache._state))
    return cache


def _leaves(seed: int, leaves: int) -> NodeCache:
    """One root path of 4 tokens, and leaves of 2 behind it, the first asked for first."""
    cache = _cache(seed, [[[0, 4], [1 + leaf, 2]] for leaf in range(leaves)])
    for leaf in range(leaves):
        cache.request(leaf)
    return cache


def _evict(cache: NodeCache, tokens: int) -> int:
    (run,), space = cache._state
    return cache._kernel.evict(run, space, tokens)


def _gone(cache: NodeCache) -> set[int]:
    return {leaf for leaf in range(len(cache.trie)) if cache.found(leaf) < 6}


def test_leaves_without_marks_are_equally_likely() -> None:
    seen = Counter[int]()
    for seed in range(2000):
        cache = _leaves(seed, 4)
        _evict(cache, 1)
        seen.update(_gone(cache))
    # 500 each; five standard deviations of a binomial count are 97
    assert all(abs(seen[leaf] - 500) < 97 for leaf in range(4))


def test_what_a_phase_asked_for_goes_last() -> None:
    for seed in range(50):
        cache = _leaves(seed, 5)
        _evict(cache, 1)  # all have marks: a phase begins, in which nobody was asked for yet
        asked = min(set(range(5)) - _gone(cache))
        cache.request(asked)
        for _ in range(3):
            _evict(cache, 1)
        assert set(range(5)) - _gone(cache) == {asked}
        assert _evict(cache, 1) == 2
        assert _evict(cache, 100) == 4  # the path above is a leaf only now
        assert cache.total == 0


def test_what_is_in_use_stays_and_the_account_is_right() -> None:
    for seed in range(100):
        chance = Random(seed)
        steps = range(60)
        asked = [[[chance.randrange(3), 1 + chance.randrange(5)], [10 + n, 3]] for n in steps]
        cache = _cache(seed, asked)
        tree, ((run,), space) = cache._kernel, cache._state
        locked = []
        for step in steps:
            cache.request(step)
            if chance.random() < 0.3:
                tokens = cache.trie.units[step]
                node = tree.walk(run, space, step, tokens, tree.LOWEST, tree.ALL)
                tree.lock(run, space, node)
                locked.append((step, node, space.nodes[node].end))
            if locked and chance.random() < 0.2:
                tree.unlock(run, space, locked.pop(chance.randrange(len(locked)))[1])
            before, free = run.total, run.total - run.protected
            gone = _evict(cache, chance.randrange(8))
            assert run.total == before - gone
            assert run.total - run.protected == free - gone
            assert all(cache.found(request) == found for request, _, found in locked)
        for _, node, _ in locked:
            tree.unlock(run, space, node)
        _evict(cache, 10**6)
        assert (run.total, run.protected, run.spare_nodes) == (0, 0, len(cache.trie.size))


def test_the_same_seed_draws_the_same() -> None:
    one, other = _leaves(7, 9), _leaves(7, 9)
    assert _evict(one, 8) == _evict(other, 8)
    assert _gone(one) == _gone(other)
