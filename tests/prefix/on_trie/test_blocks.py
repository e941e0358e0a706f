"""vLLM's blocks, requests one by one: beside LRU, and by hand."""

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie.blocks import run_blocks
from fluidkv.prefix.on_trie.run import run_cache
from fluidkv.prefix.on_trie.trie import trie_of
from fluidkv.prefix.pieces import Content, Piece, cut, length
from fluidkv.prefix.policies import Granularity, Policy
from fluidkv.prefix.prompts import Prompts
from tests.prefix.cases import prompts

ANSWER = (Piece(999, 0, 1),)


def of(*sizes: int, page: int = 2) -> list[Content]:
    return [(Piece(segment, 0, size),) for segment, size in enumerate(sizes)]


@pytest.mark.parametrize("seed", range(40))
def test_prompts_that_fill_no_last_block_leave_lru_one_block_less(seed: int) -> None:
    random = np.random.default_rng(seed)
    page = int(random.integers(2, 5))
    said = [
        cut(prompt, 0, max(length(prompt) - 1, 0) // page * page + 1)
        for prompt in prompts(random, 12, 8).prompts
    ]
    trie = trie_of(Prompts(said, [ANSWER] * 12), Granularity(page))
    order = random.integers(0, 12, 40).tolist()
    for blocks in range(trie.longest + 1, trie.total + 3):
        run = run_blocks(trie, blocks * page, order=order)
        lru = run_cache(trie, (blocks - 1) * page, Policy.LRU, order=order)
        assert run.hit_units.tolist() == lru.hit_units.tolist()


def test_a_prompt_that_is_all_there_computes_its_last_block_again_and_keeps_both() -> None:
    trie = trie_of(Prompts(of(4, 2), [ANSWER] * 2), Granularity(2))
    run = run_blocks(trie, 6, order=[0, 0, 1, 0])
    # Two blocks, then a copy of the second in the third. The other prompt takes the line's front:
    # the copies were released after and before the first block; the older one goes.
    assert run.hit_units.tolist() == [0, 1, 0, 1]
    assert run.evicted.tolist() == [0, 0, 1, 1]


def test_the_last_token_of_an_answer_is_not_written() -> None:
    said = Prompts([(Piece(0, 0, 3),), (Piece(0, 0, 3), Piece(1, 0, 3))], [((Piece(1, 0, 1),))] * 2)
    trie = trie_of(said, Granularity(2), answers=True)
    assert run_blocks(trie, 100).hit_units.tolist() == [0, 1]
    longer = Prompts(said.prompts, [((Piece(1, 0, 2),))] * 2)
    assert run_blocks(trie_of(longer, Granularity(2), answers=True), 100).hit_units.tolist() == [
        0,
        2,
    ]


def test_what_does_not_fit_is_refused() -> None:
    said = Prompts(of(5), [ANSWER])
    with pytest.raises(InputError, match="at least 6 tokens"):
        run_blocks(trie_of(said, Granularity(2)), 5)
    with pytest.raises(InputError, match="counted"):
        run_blocks(trie_of(said, Granularity(2, "counted")), 100)
