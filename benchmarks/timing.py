"""Times of calls, and the inputs that the benchmarks share."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from fluidkv.traces import read_trace
from fluidkv.workload import Workload

ROOT = Path(__file__).parent.parent
TRACES = Path(os.environ.get("FLUIDKV_TRACES", ROOT / ".." / "shared" / "traces"))


@dataclass(frozen=True)
class Times:
    """Seconds of several calls of the same thing.

    What else a machine does can only add to a time, so that `best` is nearest to the code's own;
    `median` is what a user met.
    """

    best: float
    median: float
    calls: int


class SkippedError(Exception):
    """A benchmark whose input is not there; the message is the reason."""


def times(call: Callable[[], object], *, calls: int, warm_up: int = 1) -> Times:
    """Time `call`, after `warm_up` calls that do not count."""
    for _ in range(warm_up):
        call()
    taken = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return Times(min(taken), median(taken), calls)


def trace_path(name: str) -> Path:
    """A file or folder among the real traces."""
    path = TRACES / name
    if not path.exists():
        raise SkippedError(f"no {name}: FLUIDKV_TRACES names no folder of traces that has it")
    return path


def trace_workload(name: str) -> Workload:
    """The empirical workload of a real trace."""
    return read_trace(trace_path(name)).trace.workload(name=name)
