"""The fast tree is the literal one, call by call, on drawn calls."""

from itertools import product

import pytest

from fluidkv.prefix.radix.operations import Operations
from fluidkv.prefix.radix.reference import RadixTree
from fluidkv.prefix.radix.tree import FastRadixTree
from fluidkv.prefix.radix.values import POLICIES, SplitBirth
from tests.prefix.radix.drawn import BothTrees

PAGES = (1, 2, 4, 16)
SETTINGS = tuple(product(PAGES, POLICIES, SplitBirth))


def drawn(seed: int) -> BothTrees:
    """Lists of calls go through all settings in turn; the pool is of 5 to 28 pages."""
    page, policy, birth = SETTINGS[seed % len(SETTINGS)]
    capacity = (5 + seed // len(SETTINGS) % 24) * page
    literal = Operations(RadixTree(page, policy, birth), capacity)
    fast = Operations(FastRadixTree(page, policy, birth), capacity)
    both = BothTrees(literal, fast, seed)
    both.run()
    return both


@pytest.mark.parametrize("start", range(0, 336, 56))
def test_fast_is_literal(start: int) -> None:
    runs = [drawn(seed) for seed in range(start, start + 56)]
    assert sum(run.failed for run in runs) > 0


def test_fast_is_literal_where_its_heap_is_cleared_up_all_the_time(monkeypatch) -> None:
    monkeypatch.setattr("fluidkv.prefix.radix.tree._FEW", -(10**6))
    for seed in range(56):
        drawn(seed)


@pytest.mark.thorough  # minutes
@pytest.mark.parametrize("start", range(0, 10_080, 1_008))
def test_fast_is_literal_on_10_000_drawn_lists(start: int) -> None:
    for seed in range(start, start + 1_008):
        drawn(seed)
