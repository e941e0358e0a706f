"""Curves are runs, size by size; nothing is above the ceiling."""

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie.curves import ceiling, hit_curves, some_capacities
from fluidkv.prefix.on_trie.run import run_cache
from fluidkv.prefix.on_trie.trie import Trie, trie_of
from fluidkv.prefix.policies import Policy
from fluidkv.prefix.radix.values import POLICIES
from fluidkv.prefix.workloads import shared_prefixes
from tests.prefix.cases import case


@pytest.fixture(scope="module")
def trie() -> Trie:
    _, prompts = shared_prefixes(3, groups=6, queries=8, lengths=(8, 20, 32), order="random")
    return trie_of(prompts)


@pytest.mark.parametrize("workers", [1, 2])
def test_curves_are_runs_at_each_size(trie: Trie, workers: int) -> None:
    sizes, told = some_capacities(trie, 5), []
    order = [*range(len(trie)), *range(0, len(trie), 2)]
    found = hit_curves(
        trie,
        sizes,
        [Policy.LRU, Policy.OPT, Policy.RLT],
        seeds=3,
        order=order,
        workers=workers,
        on_progress=lambda done, all_: told.append((done, all_)),
    )
    assert told == [(done, 5) for done in range(1, 6)]
    assert found.rates[Policy.RLT].shape == (3, len(sizes))
    for policy, rates in found.rates.items():
        for seed, row in enumerate(rates):
            runs = [run_cache(trie, c, policy, seed=seed, order=order) for c in sizes]
            assert row.tolist() == [run.hit_rate() for run in runs]
    assert np.ptp(found.rates[Policy.RLT], axis=0).max() > 0


def test_no_policy_exceeds_the_best_nor_the_best_what_never_evicts(trie: Trie) -> None:
    found = hit_curves(trie, some_capacities(trie, 6))
    assert set(found.rates) == set(Policy)
    for rates in found.rates.values():
        assert (rates <= found.rates[Policy.OPT] + 1e-12).all()  # a division of integers
        assert rates[0, -1] == found.ceiling == ceiling(trie)
    assert (np.diff(found.mean(Policy.OPT)) >= 0).all()


def test_whole_nodes_have_sglangs_policies_and_those_that_draw() -> None:
    of = case(7, nodes=True)
    found = hit_curves(of.trie, [of.capacity], of="units")
    assert set(found.rates) == {*POLICIES, Policy.RLT, Policy.RANDOM}
    run = run_cache(of.trie, of.capacity, Policy.SLRU)
    assert found.rates[Policy.SLRU].tolist() == [[run.hit_rate("units")]]


def test_sizes_go_from_the_longest_request_to_all(trie: Trie) -> None:
    sizes = some_capacities(trie, 10)
    assert (sizes[0], sizes[-1], len(sizes)) == (trie.longest, trie.total, 10)
    assert list(sizes) == sorted(set(sizes))


def test_nothing_to_draw_is_refused(trie: Trie) -> None:
    for sizes, policies in (([], None), ([10**6], [])):
        with pytest.raises(InputError, match="capacities"):
            hit_curves(trie, sizes, policies)
    with pytest.raises(InputError, match="at least 32 tokens"):
        hit_curves(trie, [10**6, 31])
    with pytest.raises(InputError, match="seeds"):
        hit_curves(trie, [10**6], [Policy.RLT], seeds=0)
    with pytest.raises(InputError, match="of"):
        hit_curves(trie, [10**6], [Policy.LRU], of="blocks")  # pyright: ignore[reportArgumentType]
