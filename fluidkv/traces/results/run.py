"""What a format of benchmark results is: how a JSON object is recognised, what a run in it says.

A file may hold several runs: a line each, or a list in one object. One run is a trace.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fluidkv.traces.format import BadRow, Record, Row
from fluidkv.traces.times import RunFacts


class BadRun(Exception):  # noqa: N818 (a fact about a file, not a fault of the program)
    """A run that cannot be read, or contradicts itself as a whole; `allowed` says what would do."""

    def __init__(self, allowed: str) -> None:
        self.allowed = allowed
        super().__init__(allowed)


@dataclass(frozen=True)
class RunRows:
    """The requests of one run.

    Fields:
        rows: as the file has them, each good or bad.
        facts: what it says of the run.
        notes: what it does not say, and what is not used.
    """

    rows: Sequence[Row | BadRow]
    facts: RunFacts
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunFormat:
    """A format of benchmark results. Each lives in a file of its own.

    Fields:
        name: what `format=` takes.
        wrote: the tool and the option that write it, for messages.
        recognises: whether a JSON object is of this format; never raises.
        runs: the runs in an object that is.
        label: a few words that tell a run from the others of its file.
        read: a run -> its requests; raises BadRun.
    """

    name: str
    wrote: str
    recognises: Callable[[Record], bool]
    runs: Callable[[Record], Sequence[Record]]
    label: Callable[[Record], str]
    read: Callable[[Record], RunRows]
