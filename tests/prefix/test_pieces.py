"""Pieces of segments against the tokens that they stand for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.prefix.pieces import Piece, common, content, cut, joined, length, tokens

PIECES = st.builds(Piece, st.integers(0, 2), st.integers(0, 3), st.integers(1, 4))
CONTENTS = st.lists(PIECES, max_size=5).map(joined)


@given(CONTENTS, CONTENTS, st.integers(0, 12), st.integers(0, 12))
def test_pieces_are_their_tokens(one: tuple, other: tuple, start: int, end: int) -> None:
    a, b = list(tokens(one)), list(tokens(other))
    assert length(one) == len(a)
    assert list(tokens(cut(one, start, end))) == a[start:end]
    same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    assert common(one, other) == (min(len(a), len(b)) if same is None else same)
    assert (one == other) == (a == b)


@given(st.lists(PIECES, max_size=5))
def test_pieces_that_continue_each_other_are_one(pieces: list[Piece]) -> None:
    written = [t for piece in pieces for t in tokens((piece,))]
    assert list(tokens(joined(pieces))) == written
    assert joined(Piece(*t, 1) for t in written) == joined(pieces)


@pytest.mark.parametrize("pair", [(1, 0), (-1, 3), (1, 2, 3), (1, 1.5)])
def test_what_is_no_segment_is_refused(pair: tuple) -> None:
    with pytest.raises(InputError, match="segment"):
        content([pair])
