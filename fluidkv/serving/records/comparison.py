"""A replay beside what was recorded, and the first row in which they differ.

A kind of record is a reader, from the fields of a file to an object that can replay itself. What
those objects have in common is here; the kinds are listed in `replay.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
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
        >>> from fluidkv.serving import VllmRecord, replay
        >>> given = (fk.engine("vllm"), fk.Limits(100), fk.Requests([10], [2]))
        >>> rows = np.array([[1, 10], [1, 2]])  # the second step computes one token, not two
        >>> found = replay(VllmRecord("by hand", "0.33.0", (), *given, ("running", "tokens"), rows))
        >>> found.equal, found.rows, found.difference.values
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


def step_by_step(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    step: Callable[[], Mapping[str, Any]],
    evictions: str,
    on_progress: Progress,
) -> Replay:
    """Rows of a scheduler, one a step.

    Args:
        columns, rows: recorded; a row's values in the order of the columns.
        step: does the next step and returns its counts by name.
        evictions: the count of a step that is one of evictions.
    """
    evicted = 0
    for place, row in enumerate(rows):
        if place % EVERY == 0:
            on_progress(f"step {place:,} of {len(rows):,}")
        counts = step()
        evicted += counts[evictions]
        ours = [counts[name] for name in columns]
        if ours != list(row):
            differs = difference(place, f"step {place:,}", columns, row, ours)
            return Replay(False, place, evicted, place + 1, differs)
    return Replay(True, len(rows), evicted, len(rows), None)
