"""The real traces, which some of the benchmarks read."""

import os
from pathlib import Path

from fluidkv.traces import read_trace
from fluidkv.workload import Workload

ROOT = Path(__file__).parent.parent
TRACES = Path(os.environ.get("FLUIDKV_TRACES", ROOT / ".." / "shared" / "traces"))


class SkippedError(Exception):
    """A benchmark whose input is not there; the message is the reason."""


def trace_path(name: str) -> Path:
    """A file or folder among the real traces."""
    path = TRACES / name
    if not path.exists():
        raise SkippedError(f"no {name}: FLUIDKV_TRACES names no folder of traces that has it")
    return path


def trace_workload(name: str) -> Workload:
    """The empirical workload of a real trace."""
    return read_trace(trace_path(name)).trace.workload(name=name)
