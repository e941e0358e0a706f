"""A record of a scheduler: its requests, and a row for each step."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fluidkv.serving.records.arrivals import Arrivals
from fluidkv.serving.records.comparison import EVERY, Progress, Record, Replay, difference

Step = Callable[[], Mapping[str, Any]]
"""Does the next step of a scheduler, and returns what it counts, by the names of columns."""


@dataclass(frozen=True, eq=False)
class StepsRecord(Record):
    """One run of a scheduler, step by step.

    Args:
        source, version, notes: as of every `Record`.
        arrivals: the requests.
        columns: names of what is compared, in the file's order.
        rows: counts and lists, a row for each step.
    """

    arrivals: Arrivals
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    evictions: ClassVar[str]  # the count of a step that is one of evictions

    @abstractmethod
    def scheduler(self, *, compiled: bool) -> Step:
        """A scheduler of these settings before its first step, as plain Python or compiled."""

    def replay(self, on_progress: Progress, *, compiled: bool = False) -> Replay:
        """Run the scheduler up to the first step that differs."""
        step, evicted = self.scheduler(compiled=compiled), 0
        for place, row in enumerate(self.rows):
            if place % EVERY == 0:
                on_progress(f"step {place:,} of {len(self.rows):,}")
            counts = step()
            evicted += counts[self.evictions]
            ours = [counts[name] for name in self.columns]
            if ours != list(row):
                differs = difference(place, f"step {place:,}", self.columns, row, ours)
                return Replay(False, place, evicted, place + 1, differs)
        return Replay(True, len(self.rows), evicted, len(self.rows), None)
