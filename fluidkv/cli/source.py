"""The requests of a command that is no question."""

from typing import TYPE_CHECKING

from fluidkv.answers.served.load import Origin, Reading
from fluidkv.cli.asked import note_read
from fluidkv.cli.progress import progress

if TYPE_CHECKING:
    from fluidkv.traces import Trace
    from fluidkv.traces.report import LoadReport
    from fluidkv.workload import Workload


def requests_of(origin: Origin, reading: Reading) -> "tuple[Workload | Trace, LoadReport | None]":
    """Classes, a preset, or a trace with the report of its reader; exactly one is there."""
    with progress(f"reading {origin.source or origin.preset or 'classes'}"):
        return reading.requests(origin, note_read)
