"""Prompts: what is shared where ids are, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.prefix.pieces import Piece, common, length, tokens
from fluidkv.prefix.prompts import Prompts, private, prompts_of_blocks
from fluidkv.runs.requests import Requests


@st.composite
def block_tables(draw: st.DrawFn) -> tuple[list[list[int]], list[int], int]:
    """Ids of a drawn tree of blocks, the lengths of prompts, the block size."""
    size = draw(st.integers(1, 4))
    paths: list[tuple[int, ...]] = []
    for _ in range(draw(st.integers(1, 8))):
        base = draw(st.sampled_from([(), *paths]))
        kept = base[: draw(st.integers(0, len(base)))]
        more = draw(st.lists(st.integers(0, 2), min_size=0 if kept else 1, max_size=4))
        paths.append((*kept, *more))
    ids = {path[:end]: None for path in paths for end in range(1, len(path) + 1)}
    named = dict(zip(ids, draw(st.permutations(range(len(ids)))), strict=True))
    table = [[named[path[:end]] for end in range(1, len(path) + 1)] for path in paths]
    lengths = [len(row) * size - draw(st.integers(0, size - 1)) for row in table]
    return table, lengths, size


@given(block_tables())
def test_prompts_begin_alike_as_far_as_their_ids_do(
    case: tuple[list[list[int]], list[int], int],
) -> None:
    table, lengths, size = case
    found = prompts_of_blocks(table, size, lengths, [3] * len(table))
    assert found.input_length.tolist() == lengths
    for one, row in zip(found.prompts, table, strict=True):
        for other, ids in zip(found.prompts, table, strict=True):
            same = 0
            while same < min(len(row), len(ids)) and row[same] == ids[same]:
                same += 1
            assert common(one, other) == min(same * size, length(one), length(other))


def test_answers_are_shared_with_nobody() -> None:
    found = prompts_of_blocks([[5, 9], [5, 9], [5]], 4, [8, 7, 4], [1, 2, 3])
    assert found.output_length.tolist() == [1, 2, 3]
    said = [set(tokens(output)) for output in found.outputs]
    asked = {token for prompt in found.prompts for token in tokens(prompt)}
    assert len(set.union(*said)) == 1 + 2 + 3
    assert not asked & set.union(*said)
    assert found.paths[0] == (*found.prompts[0], *found.outputs[0])


def test_private_prompts_begin_alike_with_nobody() -> None:
    requests = Requests([3, 5], [2, 1])
    found = private(requests)
    assert np.array_equal(found.input_length, requests.input_length)
    assert np.array_equal(found.output_length, requests.output_length)
    assert common(found.paths[0], found.paths[1]) == 0
    assert found.paths == ((Piece(0, 0, 5),), (Piece(1, 0, 6),))


@pytest.mark.parametrize(
    ("ids", "inputs", "outputs", "said"),
    [
        ([[1, 2], [3, 2]], [8, 8], [1, 1], r"id 2 behind 1 and 3"),
        ([[1, 2], [2]], [8, 4], [1, 1], r"id 2 behind 1 and nothing"),
        ([[1, 1]], [8], [1], r"id 1 behind nothing and 1"),
        ([[1, 2]], [4], [1], r"2 ids in request 0'; allowed: 1, for 4 tokens"),
        ([[1]], [5], [1], r"1 ids in request 0'; allowed: 2, for 5 tokens"),
        ([[1]], [-3], [1], "input_lengths: got -3"),
        ([[1]], [3], [-1], "output_lengths: got -1"),
        ([[-1]], [3], [1], "prefix_blocks: got -1"),
        ([[1]], [3, 3], [1], "input_lengths: got '2 entries'"),
        ([[1]], [3], [], "output_lengths: got '0 entries'"),
        ([], [], [], "prompts"),
    ],
)
def test_what_contradicts_itself_is_refused(
    ids: list[list[int]], inputs: list[int], outputs: list[int], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        prompts_of_blocks(ids, 4, inputs, outputs)


@pytest.mark.parametrize(
    ("prompts", "outputs"),
    [
        ([()], [((0, 0, 1),)]),
        ([((0, 0, 1),)], []),
        ([((0, -1, 1),)], [((0, 0, 1),)]),
        ([((0, 0, -2),)], [((0, 0, 1),)]),
        ([((0, 0, 1),)], [((-1, 0, 1),)]),
    ],
)
def test_what_is_no_prompt_is_refused(prompts: list, outputs: list) -> None:
    with pytest.raises(InputError, match=r"prompts|outputs"):
        Prompts(prompts, outputs)
