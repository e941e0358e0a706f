"""A number for every full block of a table: what it says, and all that comes before it.

Found once, before anything runs, from prompts and answers together. Blocks that lie in one piece
one behind the other are a run, whose numbers follow each other.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from threading import Lock
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from fluidkv.errors import InputError
from fluidkv.prefix.pieces import Content
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.table import checked_prompts
from fluidkv.serving.kernel.layout import NamedBlocks

_Place = tuple[int, int]
"""(run, block in it)."""

_ROOT: _Place = (-1, 0)


class Strands(NamedTuple):
    """The runs that stay together wherever they occur, in tokens; of each request, its spans.

    Fields:
        parent: of each run, the one that it begins in; -1: it begins a text.
        base: tokens before its first.
        run, end: of each span, one request's behind the other's: its run, the request's tokens up
            to its end.
        first: of a request's spans; one more at the end.
    """

    parent: Int[np.ndarray, " run"]
    base: Int[np.ndarray, " run"]
    run: Int[np.ndarray, " span"]
    end: Int[np.ndarray, " span"]
    first: Int[np.ndarray, " request"]


def names_of(
    requests: Requests, prompts: Prompts | None, block_size: int, names: "BlockNames | None" = None
) -> "BlockNames":
    """Names of the blocks of a table's prompts: those that are there already, or new ones.

    Raises:
        InputError: names of another number of requests, or of other blocks; as `checked_prompts`.
    """
    if names is None:
        return BlockNames(checked_prompts(requests, prompts), block_size)
    if (names.requests, names.block_size) != (len(requests), block_size):
        shown = f"{names.requests} requests in blocks of {names.block_size}"
        allowed = f"those of {len(requests)} in blocks of {block_size}"
        raise InputError("names", shown, allowed)
    return names


class BlockNames:
    """Numbers of the full blocks of each request; equal just where the text up to there is.

    Args:
        prompts: of a table.
        block_size: tokens of a block.

    Examples:
        >>> from fluidkv.prefix import Prompts
        >>> from fluidkv.serving.caching.names import BlockNames
        >>> alike = Prompts([[(0, 0, 8)], [(0, 0, 6), (1, 0, 6)]], [[(2, 0, 2)], [(3, 0, 2)]])
        >>> names = BlockNames(alike, block_size=4)
        >>> names.of(0), names.of(1)
        ([0, 1], [0, 2, 3])
        >>> len(names)
        4
    """

    def __init__(self, prompts: Prompts, block_size: int) -> None:
        self.block_size = block_size
        self._runs: dict[tuple, int] = {}  # where it comes from, and what it begins with
        self._longest: list[int] = []  # blocks of each run
        self._rows = [self._row(text) for text in prompts.paths]
        self._first = [0]
        for blocks in self._longest:
            self._first.append(self._first[-1] + blocks)

    @property
    def requests(self) -> int:
        """Of the table."""
        return len(self._rows)

    def __len__(self) -> int:
        """Different blocks of the table."""
        return self._first[-1]

    def of(self, index: int) -> list[int]:
        """The numbers of a request's full blocks, from its first."""
        first = self._first
        spans = (range(first[run], first[run] + blocks) for run, blocks in self._rows[index])
        return list(chain.from_iterable(spans))

    def flat(self) -> NamedBlocks:
        """All numbers, one request behind the other.

        Behind those of a request is one place more, for a last block that is not full.
        """
        spans = np.array([span for row in self._rows for span in row], np.int64).reshape(-1, 2)
        row = np.repeat(np.arange(self.requests), [len(row) for row in self._rows])
        blocks = np.bincount(row, spans[:, 1], self.requests).astype(np.int64)
        first = np.cumsum(blocks + 1) - blocks - 1
        # A span's numbers follow each other: from place to place they differ by as much as places.
        before = np.cumsum(spans[:, 1]) - spans[:, 1]
        begins = np.array(self._first, np.int64)[spans[:, 0]] - before
        numbers = np.repeat(begins, spans[:, 1]) + np.arange(spans[:, 1].sum())
        flat = np.full(int((blocks + 1).sum()), -1, np.int32)
        flat[np.arange(numbers.size) + np.repeat(row, spans[:, 1])] = numbers
        return NamedBlocks(flat, first, max(1, len(self)))

    def strands(self) -> Strands:
        """The same as spans of runs, for a tree."""
        size = self.block_size
        parent = np.array([last[0] for last, _ in self._runs], np.int64)
        bases: list[int] = []  # a run comes after the one that it begins in
        for (run, block), _ in self._runs:
            bases.append(0 if run < 0 else bases[run] + block + 1)
        spans = np.array([span for row in self._rows for span in row], np.int64).reshape(-1, 2)
        first = np.cumsum([0, *(len(row) for row in self._rows)])
        through = np.cumsum(spans[:, 1])
        before = np.concatenate([[0], through])[first[:-1]]
        ends = through - np.repeat(before, np.diff(first))
        return Strands(parent, np.array(bases, np.int64) * size, spans[:, 0], ends * size, first)

    def _row(self, text: Content) -> list[tuple[int, int]]:
        """(run, how many of its blocks) one behind the other."""
        size = self.block_size
        row: list[tuple[int, int]] = []
        last = _ROOT
        pieces: tuple[tuple[int, int, int], ...] = ()  # of a block that is not full yet
        filled = 0
        for segment, start, length in text:
            if filled:
                part = min(size - filled, length)
                pieces += ((segment, start, part),)
                filled, start, length = filled + part, start + part, length - part
                if filled < size:
                    continue
                last = self._behind(row, last, pieces, 1)
                pieces, filled = (), 0
            if blocks := length // size:
                last = self._behind(row, last, (segment, start), blocks)
            if filled := length % size:
                pieces = ((segment, start + length - filled, filled),)
        return row

    def _behind(
        self, row: list[tuple[int, int]], last: _Place, begins: tuple, blocks: int
    ) -> _Place:
        run = self._runs.setdefault((last, begins), len(self._longest))
        if run == len(self._longest):
            self._longest.append(0)
        self._longest[run] = max(self._longest[run], blocks)
        row.append((run, blocks))
        return run, blocks - 1


class NamesOfRuns:
    """What the requests of each run say, found once where runs have it in common.

    Args:
        texts: of each run.
        block_size: of each run.
    """

    def __init__(self, texts: Sequence[Prompts], block_size: Sequence[int]) -> None:
        self._keys = [(id(text), size) for text, size in zip(texts, block_size, strict=True)]
        self._texts, self._to_come = texts, Counter(self._keys)
        self._known: dict[tuple[int, int], NamedBlocks] = {}
        self._one_at_a_time = Lock()

    def of(self, run: int) -> NamedBlocks:
        """To be asked once for each run: what no other run has is not kept."""
        key = self._keys[run]
        with self._one_at_a_time:
            if key not in self._known:
                self._known[key] = BlockNames(self._texts[run], key[1]).flat()
            self._to_come[key] -= 1
            return self._known[key] if self._to_come[key] else self._known.pop(key)
