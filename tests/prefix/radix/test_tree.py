"""The fast tree is the literal one, call by call, on drawn calls."""

from itertools import product

import pytest

from fluidkv.prefix.pieces import Content, Piece, tokens
from fluidkv.prefix.radix.operations import Operations
from fluidkv.prefix.radix.reference import RadixTree
from fluidkv.prefix.radix.tree import FastRadixTree
from fluidkv.prefix.radix.values import POLICIES, Evicted, Match, SplitBirth
from tests.prefix.radix.drawn import BothTrees

PAGES = (1, 2, 4, 16)
SETTINGS = tuple(product(PAGES, POLICIES, SplitBirth))
_MOST = 1_000  # tokens of a segment here


def drawn(seed: int, reference: type[RadixTree] = RadixTree) -> BothTrees:
    """Lists of calls go through all settings in turn; the pool is of 5 to 28 pages."""
    page, policy, birth = SETTINGS[seed % len(SETTINGS)]
    capacity = (5 + seed // len(SETTINGS) % 24) * page
    literal = Operations(reference(page, policy, birth), capacity)
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


class TokenByToken(RadixTree):
    """The literal tree with every token in a segment of its own: how it is cut does not matter."""

    def match(self, content: Content) -> Match:
        return super().match(_one_by_one(content))

    def found(self, content: Content) -> int:
        return super().found(_one_by_one(content))

    def insert(self, content: Content, priority: int = 0, inserted: int = 0) -> int:
        return super().insert(_one_by_one(content), priority, inserted)

    def evict(self, tokens: int) -> list[Evicted]:
        return [gone._replace(**_token(gone.segment)) for gone in super().evict(tokens)]


def _one_by_one(content: Content) -> Content:
    return tuple(Piece(_MOST * segment + place, 0, 1) for segment, place in tokens(content))


def _token(number: int) -> dict[str, int]:
    return {"segment": number // _MOST, "offset": number % _MOST}


def test_sequences_are_their_tokens_however_they_are_cut() -> None:
    for seed in range(112):
        drawn(seed, TokenByToken)


@pytest.mark.thorough  # minutes
@pytest.mark.parametrize("start", range(0, 10_080, 1_008))
def test_fast_is_literal_on_10_000_drawn_lists(start: int) -> None:
    for seed in range(start, start + 1_008):
        drawn(seed)
