"""The trie of a trace against its prompts, unit by unit."""

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie.trie import ROOT, Trie, trie_of
from fluidkv.prefix.pieces import Piece
from fluidkv.prefix.policies import Granularity
from fluidkv.prefix.prompts import Prompts
from fluidkv.prefix.reference import units
from tests.prefix.cases import case


def stretches(trie: Trie) -> list[set]:
    """What each stretch stands for: prefixes, one for each of its units."""
    found: list[set] = [set() for _ in trie.size]
    for path, of in zip(trie.paths, trie.contents, strict=True):
        said = units(of, trie.granularity)
        for stretch in path:
            first = trie.before[stretch]
            found[stretch].add(
                tuple(said[:end] for end in range(first + 1, first + 1 + trie.size[stretch]))
            )
    return found


@pytest.mark.parametrize("seed", range(60))
def test_stretches_are_the_prefixes_of_all_prompts_once_each(seed: int) -> None:
    trie = case(seed).trie
    meant = {
        units(of, trie.granularity)[: end + 1]
        for of in trie.contents
        for end in range(len(units(of, trie.granularity)))
    }
    said = stretches(trie)
    assert all(len(of) == 1 for of in said[1:])
    every = [prefix for of in said[1:] for prefix in next(iter(of))]
    assert sorted(map(hash, every)) == sorted(map(hash, meant))
    assert trie.total == len(every) == len(meant)
    for path, of, size in zip(trie.paths, trie.contents, trie.units, strict=True):
        assert size == len(units(of, trie.granularity)) == sum(trie.size[s] for s in path)
        above = (ROOT, *path)
        assert all(trie.parent[b] == a for a, b in zip(above, path, strict=False))
    assert all(parent < child for child, parent in enumerate(trie.parent))
    assert min(trie.size[1:], default=1) > 0


def test_stretches_are_as_few_as_branches_and_ends_allow() -> None:
    for seed in range(60):
        trie = case(seed).trie
        ends = {path[-1] for path in trie.paths if path}
        for stretch in range(1, len(trie.size)):
            children = sum(parent == stretch for parent in trie.parent)
            assert stretch in ends or children >= 2


def test_a_page_that_is_not_full_is_shared_only_by_those_that_end_with_it() -> None:
    prompts = Prompts([(Piece(0, 0, n),) for n in (6, 7, 6, 8)], [(Piece(1, 0, 1),)] * 4)
    counted = trie_of(prompts, Granularity(4, "counted"))
    assert counted.paths[0] == counted.paths[2]
    assert len({*counted.paths}) == 3
    assert counted.total == 1 + 3
    assert trie_of(prompts, Granularity(4)).units == (1, 1, 1, 2)
    assert counted.hit_tokens(1, 2) == 7


def test_a_long_prompt_costs_its_pieces_and_not_its_tokens() -> None:
    long = Prompts(
        [(Piece(0, 0, 10**12),), (Piece(0, 0, 10**9), Piece(1, 0, 5))], [(Piece(2, 0, 1),)] * 2
    )
    trie = trie_of(long)
    assert sorted(trie.size) == [0, 5, 10**9, 10**12 - 10**9]
    assert np.sum(trie.units) == 10**12 + 10**9 + 5


@pytest.mark.parametrize(
    "given",
    [{"page": 0}, {"page": 2, "last": "some"}, {"page": 2, "last": "counted", "nodes": True}],
)
def test_what_is_no_granularity_is_refused(given: dict) -> None:
    with pytest.raises(InputError, match=r"page|last"):
        Granularity(**given)
