"""The literal tree on drawn calls: how sequences are cut into pieces does not matter."""

from itertools import product

from fluidkv.prefix.pieces import Content, Piece, tokens
from fluidkv.prefix.radix.operations import Operations
from fluidkv.prefix.radix.reference import RadixTree
from fluidkv.prefix.radix.values import POLICIES, Evicted, Match, SplitBirth
from tests.prefix.radix.drawn import BothTrees

PAGES = (1, 2, 4, 16)
SETTINGS = tuple(product(PAGES, POLICIES, SplitBirth))
_MOST = 1_000  # tokens of a segment here


class TokenByToken(RadixTree):
    """The literal tree with every token in a segment of its own."""

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
    """Lists of calls go through all settings in turn; the pool is of 5 to 28 pages."""
    failed = 0
    for seed in range(112):
        page, policy, birth = SETTINGS[seed % len(SETTINGS)]
        capacity = (5 + seed // len(SETTINGS) % 24) * page
        plain, cut = (kind(page, policy, birth) for kind in (RadixTree, TokenByToken))
        both = BothTrees(Operations(plain, capacity), Operations(cut, capacity), seed)
        both.run()
        failed += both.failed
    assert failed > 0
