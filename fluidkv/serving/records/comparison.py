"""A replay beside what was recorded, and the first row in which they differ.

A kind of record is a reader, from the fields of a file to an object that can replay itself. What
those objects have in common is here; the kinds are listed in `replay.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fluidkv.record import Record as Result

Progress = Callable[[str], None]
EVERY = 64
"""Rows between two reports of progress."""


@dataclass(frozen=True)
class Difference(Result):
    """The first row that differs.

    Args:
        row: from 0: the step of a scheduler, the call on a tree, the run of Vidur.
        where: the row in words.
        values: (column, recorded, replayed) of each column that differs, in the file's order.
            Values are what JSON holds: numbers, words, lists of them.
    """

    row: int
    where: str
    values: tuple[tuple[str, Any, Any], ...]


@dataclass(frozen=True)
class Replay(Result):
    """A replay, up to its end or to the first difference.

    Args:
        equal: every row is.
        rows: how many rows are equal, from the first on.
        evictions, iterations: of the replay, as far as it went. Requests that schedulers evicted
            in their iterations; nodes that left a tree, and calls.
        difference: None where equal.

    Examples:
        >>> from fluidkv.serving.records.replay import replay
        >>> from fluidkv.serving.records.vllm import VllmRecord
        >>> from fluidkv.serving.records.arrivals import Arrivals
        >>> steps = (Arrivals(fk.Requests([10], [2])), ("running", "tokens"), [[1, 10], [1, 2]])
        >>> limits = fk.Limits(100)
        >>> record = VllmRecord("by hand", "0.33.0", (), *steps, fk.engine("vllm"), limits)
        >>> replayed = replay(record)  # the second step computes one token, not two
        >>> replayed.equal, replayed.rows, replayed.difference.values
        (False, 1, (('tokens', 2, 1),))
    """

    equal: bool
    rows: int
    evictions: int
    iterations: int
    difference: Difference | None


@dataclass(frozen=True, eq=False)
class Record(ABC):
    """What a file says was run, of whatever kind.

    Args:
        source, version: the file; the engine's version as it says.
        notes: what a reader of the replay must know: settings that contradict, versions not known.
    """

    source: str
    version: str
    notes: tuple[str, ...]
    engine: ClassVar[str]
    unit: ClassVar[str] = "row"  # what a row is, in one word that takes an s

    @abstractmethod
    def replay(self, on_progress: Progress) -> Replay:
        """Run it, and stop at the first row that differs."""


def difference(
    row: int, where: str, columns: Sequence[str], recorded: Sequence[Any], ours: Sequence[Any]
) -> Difference:
    """The columns of a row in which two rows differ."""
    triples = zip(columns, recorded, ours, strict=True)
    return Difference(row, where, tuple(each for each in triples if each[1] != each[2]))
