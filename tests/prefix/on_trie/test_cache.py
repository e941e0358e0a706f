"""The fast cache against the literal one: the same hits, and the same units gone in one order."""

from collections.abc import Sequence

import pytest

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie.cache import TraceCache
from fluidkv.prefix.on_trie.run import run_cache
from fluidkv.prefix.on_trie.trie import Trie
from fluidkv.prefix.policies import Policy
from fluidkv.prefix.reference import LiteralCache, Prefix, units
from tests.prefix.cases import Case, case

CASES = 40
"""Of each policy; ten thousand in all with --thorough."""


def prefixes(trie: Trie) -> list[tuple[Prefix, ...]]:
    """For each stretch, what its units stand for."""
    found: list[tuple[Prefix, ...]] = [()] * len(trie.size)
    for path, of in zip(trie.paths, trie.contents, strict=True):
        said = units(of, trie.granularity)
        for stretch in path:
            ends = range(trie.before[stretch] + 1, trie.before[stretch] + trie.size[stretch] + 1)
            found[stretch] = tuple(said[:end] for end in ends)
    return found


def held_alike(of: Case, policy: Policy, seed: int) -> None:
    """Both caches through a case."""
    trie, meant = of.trie, prefixes(of.trie)
    said = [units(content, trie.granularity) for content in trie.contents]
    fast = TraceCache(trie, of.capacity, policy, seed, of.order, record=True)
    told: list[Prefix] = []

    def draw(candidates: Sequence[Prefix]) -> Prefix:
        assert told[0] in candidates
        return told.pop(0)

    slow = LiteralCache(fast.units, policy, draw, [said[request] for request in of.order])
    for request in of.order:
        known = fast.found(request)
        hits = fast.request(request, of.priorities[request])
        gone = [
            meant[s][n]
            for s, first, size in fast.gone
            for n in range(first + size - 1, first - 1, -1)
        ]
        told[:] = gone
        found = slow.request(said[request], of.priorities[request])
        assert known == hits == found.hits
        assert tuple(gone) == found.evicted
        assert fast.total == len(slow.held) <= fast.units
        assert all(unit[:-1] in slow.held for unit in slow.held if len(unit) > 1)


@pytest.mark.parametrize("policy", Policy)
def test_the_fast_cache_is_the_literal_one(policy: Policy) -> None:
    for seed in range(CASES):
        held_alike(case(seed), policy, seed)


@pytest.mark.thorough
@pytest.mark.parametrize("policy", Policy)
def test_the_fast_cache_is_the_literal_one_ten_thousand_times(policy: Policy) -> None:
    for seed in range(1000, 2000):
        held_alike(case(seed, requests=30), policy, seed)


@pytest.fixture(scope="module")
def some() -> Trie:
    return case(3).trie


def test_a_request_longer_than_the_cache_is_refused(some: Trie) -> None:
    with pytest.raises(InputError, match=f"capacity: got .*at least {some.longest}"):
        run_cache(some, some.longest - 1, Policy.LRU)
    with pytest.raises(InputError, match="capacity"):
        LiteralCache(2, Policy.LRU).request((1, 2, 3))


def test_what_the_table_does_not_have_is_refused(some: Trie) -> None:
    enough = some.total
    for order in ([len(some)], [-1], []):
        with pytest.raises(InputError, match="order"):
            run_cache(some, enough, Policy.LRU, order=order)
    with pytest.raises(InputError, match="priorities"):
        run_cache(some, enough, Policy.PRIORITY, priorities=[1])
    run = run_cache(some, enough, Policy.LRU)
    with pytest.raises(InputError, match="of"):
        run.hit_rate("blocks")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="first"):
        run.hit_rate(first=len(some))
