"""What the requests of a table say: a prompt and an answer each, as pieces of segments.

Prompts that begin with the same pieces share what a cache keeps of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fluidkv.errors import InputError
from fluidkv.prefix.pieces import Content, Piece, joined, length
from fluidkv.record import Record
from fluidkv.runs.checks import count
from fluidkv.runs.requests import Requests


@dataclass(frozen=True, eq=False)
class Prompts(Record):
    """One prompt and one answer for each request, in the order of the table of requests.

    Args:
        prompts: each at least 1 token.
        outputs: as many; what the request answers, each at least 1 token.

    Raises:
        InputError: no request, another number of outputs, an empty sequence, or a piece that is
            not (segment >= 0, start >= 0, length >= 1) in whole numbers.

    Examples:
        >>> from fluidkv.prefix import Prompts, content
        >>> table = Prompts([content([(0, 100), (1, 20)])], [content([(2, 9)])])
        >>> table.input_length.tolist(), table.output_length.tolist()
        ([120], [9])
    """

    prompts: tuple[Content, ...]
    outputs: tuple[Content, ...]

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(self, prompts: Iterable[Content], outputs: Iterable[Content]) -> None: ...

    def __post_init__(self) -> None:
        prompts = _contents("prompts", self.prompts)
        outputs = _contents("outputs", self.outputs)
        if not prompts:
            raise InputError("prompts", prompts, "at least one request")
        _as_many("outputs", outputs, len(prompts))
        object.__setattr__(self, "prompts", prompts)
        object.__setattr__(self, "outputs", outputs)

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.prompts)

    @property
    def paths(self) -> tuple[Content, ...]:
        """Prompt and answer in one: what is cached when a request is done."""
        return tuple(joined(p + o) for p, o in zip(self.prompts, self.outputs, strict=True))

    @property
    def input_length(self) -> np.ndarray:
        """(request,): tokens of each prompt."""
        return np.array([length(prompt) for prompt in self.prompts], np.int64)

    @property
    def output_length(self) -> np.ndarray:
        """(request,): tokens of each answer."""
        return np.array([length(output) for output in self.outputs], np.int64)


def prompts_of_blocks(
    prefix_blocks: Sequence[Sequence[int]],
    block_size: int,
    input_lengths: Sequence[int],
    output_lengths: Sequence[int],
) -> Prompts:
    """Prompts known by the ids of their blocks, as in Mooncake's traces.

    An id stands for one block of tokens and for all blocks before it. Answers are shared with
    nobody. A block that is the first known to follow another one goes on in that one's segment, so
    that long prompts are few pieces.

    Args:
        prefix_blocks: ids, whole numbers of at least 0, one sequence a request; one id for each
            block of the prompt, the last block may be part of one.
        block_size: tokens of a block.
        input_lengths, output_lengths: tokens, at least 1, one each a request.

    Raises:
        InputError: columns of other lengths, a length below 1, another number of ids than the
            prompt has blocks, or an id that follows two different ones.

    Examples:
        >>> from fluidkv.prefix import trie_of
        >>> from fluidkv.prefix.on_trie.curves import ceiling
        >>> from fluidkv.prefix.prompts import prompts_of_blocks
        >>> table = prompts_of_blocks([[5, 6], [5, 7]], 512, [1000, 800], [10, 10])
        >>> ceiling(trie_of(table)) == 512 / 1800  # the second finds the first block
        True
    """
    size = count("block_size", block_size)
    _as_many("input_lengths", input_lengths, len(prefix_blocks))
    _as_many("output_lengths", output_lengths, len(prefix_blocks))
    chains = _Chains(size)
    found = []
    for row, (ids, tokens) in enumerate(zip(prefix_blocks, input_lengths, strict=True)):
        tokens = count("input_lengths", tokens)
        if len(ids) != -(-tokens // size):
            given = f"{len(ids)} ids in request {row}"
            raise InputError("prefix_blocks", given, f"{-(-tokens // size)}, for {tokens} tokens")
        found.append(chains.prompt(ids, tokens))
    beyond = 1 + max((block for ids in prefix_blocks for block in ids), default=-1)
    answers = (
        (Piece(beyond + row, 0, count("output_lengths", tokens)),)
        for row, tokens in enumerate(output_lengths)
    )
    return Prompts(found, answers)


def private(requests: Requests) -> Prompts:
    """Nobody shares anything: a segment for each request, its answer behind its prompt.

    Examples:
        >>> from fluidkv.prefix import trie_of
        >>> from fluidkv.prefix.on_trie.curves import ceiling
        >>> from fluidkv.prefix.prompts import private
        >>> ceiling(trie_of(private(fk.Requests([100, 100], [9, 9]))))
        0.0
    """
    lengths = zip(requests.input_length.tolist(), requests.output_length.tolist(), strict=True)
    prompts, outputs = [], []
    for segment, (inputs, answer) in enumerate(lengths):
        prompts.append((Piece(segment, 0, inputs),))
        outputs.append((Piece(segment, inputs, answer),))
    return Prompts(prompts, outputs)


class _Chains:
    """Which segment each block is in, and where."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.place: dict[int, tuple[int, int]] = {}
        self.before: dict[int, int | None] = {}
        self.continued: set[int] = set()

    def prompt(self, ids: Sequence[int], tokens: int) -> Content:
        found, before = [], None
        for number, block in enumerate(ids):
            if block not in self.place:
                self._add(block, before)
            elif self.before[block] != before:
                given = f"id {block} behind {_named(self.before[block])} and {_named(before)}"
                raise InputError("prefix_blocks", given, "one block before each")
            segment, start = self.place[block]
            found.append(Piece(segment, start, min(self.size, tokens - number * self.size)))
            before = block
        return joined(found)

    def _add(self, block: int, before: int | None) -> None:
        count("prefix_blocks", block, least=0)
        self.before[block] = before
        if before is None or before in self.continued:
            self.place[block] = block, 0
        else:
            segment, start = self.place[before]
            self.place[block] = segment, start + self.size
            self.continued.add(before)


def _named(block: int | None) -> str:
    return "nothing" if block is None else str(block)


def _contents(name: str, given: Iterable[Content]) -> tuple[Content, ...]:
    found = tuple(tuple(Piece(*piece) for piece in of) for of in given)
    for row, of in enumerate(found):
        if not of:
            raise InputError(name, f"nothing in request {row}", "at least 1 token")
        for piece in of:
            whole = all(type(number) is int for number in piece)
            if not whole or piece.segment < 0 or piece.start < 0 or piece.length < 1:
                allowed = "(segment >= 0, start >= 0, length >= 1), whole numbers"
                raise InputError(name, f"{tuple(piece)} in request {row}", allowed)
    return tuple(map(joined, found))


def _as_many(name: str, column: Sequence[object], requests: int) -> None:
    if len(column) != requests:
        raise InputError(name, f"{len(column)} entries", f"{requests}, one a request")
