"""What a prompt says, without saying it: pieces of named segments.

Token i of a segment is one thing, wherever it occurs, so two sequences begin alike as far as their
tokens are equal one by one. Texts of many thousands of tokens are a few pieces.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fluidkv.errors import InputError
from fluidkv.plain import plain_tuple


class Piece(NamedTuple):
    """Tokens `start` to `start + length - 1` of a segment; at least one.

    Examples:
        >>> from fluidkv.prefix import Prompts
        >>> from fluidkv.prefix.pieces import Piece
        >>> table = Prompts([(Piece(0, 0, 100), Piece(1, 0, 20))], [(Piece(2, 0, 9),)])
        >>> table.input_length.tolist(), table.output_length.tolist()
        ([120], [9])
    """

    segment: int
    start: int
    length: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


Content = tuple[Piece, ...]
"""A sequence of tokens. Pieces that continue each other are one, so equal sequences are equal."""


def content(segments: Iterable[Sequence[int]]) -> Content:
    """The sequence that [segment, length] pairs stand for: of each the first tokens.

    Raises:
        InputError: something else than pairs of whole numbers, a segment below 0, a length below 1.

    Examples:
        >>> from fluidkv.prefix import content
        >>> content([(0, 100), (7, 20)])  # 100 tokens that others may share, and 20 more
        (Piece(segment=0, start=0, length=100), Piece(segment=7, start=0, length=20))
    """
    pieces = []
    for pair in segments:
        whole = all(type(number) is int for number in pair)
        if len(pair) != 2 or not whole or pair[0] < 0 or pair[1] < 1:
            raise InputError("segment", pair, "[segment >= 0, length >= 1], whole numbers")
        pieces.append(Piece(pair[0], 0, pair[1]))
    return joined(pieces)


def joined(pieces: Iterable[Piece]) -> Content:
    """The pieces one behind the other."""
    found: list[Piece] = []
    for piece in pieces:
        if found and found[-1].segment == piece.segment and _end(found[-1]) == piece.start:
            piece = Piece(piece.segment, found[-1].start, found.pop().length + piece.length)
        found.append(piece)
    return tuple(found)


def length(of: Content) -> int:
    """Tokens."""
    return sum(piece.length for piece in of)


def cut(of: Content, start: int, end: int) -> Content:
    """Its tokens from `start` to before `end`, as far as it has them."""
    found, before = [], 0
    for piece in of:
        first, last = max(start - before, 0), min(end - before, piece.length)
        if first < last:
            found.append(Piece(piece.segment, piece.start + first, last - first))
        before += piece.length
        if before >= end:
            break
    return tuple(found)


def common(one: Content, other: Content) -> int:
    """How many tokens both begin with."""
    same, i, j, done_i, done_j = 0, 0, 0, 0, 0
    while i < len(one) and j < len(other):
        a, b = one[i], other[j]
        if a.segment != b.segment or a.start + done_i != b.start + done_j:
            break
        step = min(a.length - done_i, b.length - done_j)
        same, done_i, done_j = same + step, done_i + step, done_j + step
        if done_i == a.length:
            i, done_i = i + 1, 0
        if done_j == b.length:
            j, done_j = j + 1, 0
    return same


def tokens(of: Content) -> Iterator[tuple[int, int]]:
    """One by one, (segment, place in it): for what is written out literally."""
    for piece in of:
        for place in range(piece.start, _end(piece)):
            yield piece.segment, place


def _end(piece: Piece) -> int:
    return piece.start + piece.length
