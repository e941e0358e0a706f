"""One file of a log as the part of a log that it is."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fluidkv.logs.folder import sglang, vllm
from fluidkv.logs.joined.kinds import Kind
from fluidkv.logs.log import LoggedRequests, ServerLog
from fluidkv.logs.meta import engine_of, meta_of, read_settings
from fluidkv.logs.metrics.prometheus import read_range
from fluidkv.logs.metrics.scraped import read_pages
from fluidkv.logs.metrics.table import Table, log_of
from fluidkv.logs.metrics.wide import read_csv
from fluidkv.logs.settings import LoggedSettings
from fluidkv.logs.stdout.sglang import read_sglang_stdout
from fluidkv.logs.stdout.sglang_start import settings_said
from fluidkv.logs.stdout.vllm import read_vllm_stdout
from fluidkv.traces.read import read_run
from fluidkv.traces.times import LoadedRun


@dataclass(frozen=True, eq=False)
class Part:
    """A file and what it says.

    Args:
        path: of the file.
        kind: what it is.
        log: what it says, and None or nothing where it does not.
    """

    path: Path
    kind: Kind
    log: ServerLog


def read_part(path: Path, kind: Kind, capacity: int | None) -> Part:
    """What one file says.

    Args:
        capacity: of the pool, from another file; None where none says.

    Raises:
        InputError: as the reader of its kind.
    """
    if kind is Kind.SGLANG_TICKS:
        ticks = sglang.read_ticks(path, capacity)
        return Part(path, kind, ServerLog(str(path), "sglang", ticks=ticks))
    return Part(path, kind, _READERS[kind](path))


def _meta(path: Path) -> ServerLog:
    engine = engine_of(meta_of(path))
    known = {"vllm": "vllm", "sglang": "sglang"}.get(engine or "")
    return ServerLog(str(path), known, settings=read_settings(path))  # type: ignore[arg-type]  # two names


def _vllm_requests(path: Path) -> ServerLog:
    return ServerLog(str(path), "vllm", requests=vllm.read_requests(path))


def _vllm_ticks(path: Path) -> ServerLog:
    return ServerLog(str(path), None, ticks=vllm.read_ticks(path))


def _sglang_requests(path: Path) -> ServerLog:
    return ServerLog(str(path), "sglang", requests=sglang.read_requests(path))


def _sglang_events(path: Path) -> ServerLog:
    retractions, prefills = sglang.read_events(path)
    return ServerLog(str(path), "sglang", retractions=retractions, prefills=prefills)


def _polled(read: Callable[[Path], Table]) -> Callable[[Path], ServerLog]:
    return lambda path: log_of(read(path))


def _requests(path: Path) -> ServerLog:
    run = read_run(path)
    server = None if run.facts is None else run.facts.server
    settings = LoggedSettings() if server is None else settings_said(server)
    engine = "sglang" if settings != LoggedSettings() else None
    notes = tuple(f"{path.name}: {note}" for note in run.report.notes)
    return ServerLog(str(path), engine, requests=_of_run(run), settings=settings, notes=notes)


def _of_run(run: LoadedRun) -> LoggedRequests:
    """A trace and what its client measured; times that not all requests have are None."""
    trace, times = run.trace, run.times

    def column(values: tuple[float, ...] | None):
        if values is None or not all(map(math.isfinite, values)):
            return None
        return np.array(values, dtype=np.float64)

    return LoggedRequests(
        input_lengths=np.array(trace.input_lengths, dtype=np.int64),
        decode_lengths=np.array(trace.decode_lengths, dtype=np.int64),
        arrival_s=column(trace.arrival_times_s),
        first_token_s=None if times is None else column(times.first_token_s),
        last_token_s=None if times is None else column(times.last_token_s),
        report=run.report,
    )


_READERS: dict[Kind, Callable[[Path], ServerLog]] = {
    Kind.META: _meta,
    Kind.VLLM_REQUESTS: _vllm_requests,
    Kind.VLLM_TICKS: _vllm_ticks,
    Kind.SGLANG_REQUESTS: _sglang_requests,
    Kind.SGLANG_EVENTS: _sglang_events,
    Kind.RANGE: _polled(read_range),
    Kind.PAGES: _polled(read_pages),
    Kind.METRICS: _polled(read_csv),
    Kind.VLLM_STDOUT: read_vllm_stdout,
    Kind.SGLANG_STDOUT: read_sglang_stdout,
    Kind.REQUESTS: _requests,
}
