"""The counters of any log as the time series that `fluidkv.measured` measures."""

from pathlib import Path

import numpy as np

from fluidkv.errors import InputError
from fluidkv.logs.joined.kinds import Kind, kind_of
from fluidkv.logs.log import LoggedTicks, ServerLog
from fluidkv.logs.metrics.names import GENERATED, counter_of
from fluidkv.logs.read import read_log
from fluidkv.measured.timeseries import ReadReport, Timeseries, read_timeseries
from fluidkv.traces.report import LoadReport
from fluidkv.traces.samples.shipped import sample_path
from fluidkv.traces.source import csv_header


def read_series(source: Path | str) -> Timeseries:
    """The counters of a log folder or of any file of one.

    A CSV file with a column for each counter is read row by row, as `read_timeseries` does.

    Raises:
        InputError: no such file; a log without running, waiting or generated tokens; what the
            reader of its kind refuses. The argument is "measured".

    Examples:
        >>> from fluidkv.logs import read_series
        >>> series = read_series("sample:vllm-rtx4090")
        >>> len(series.t_s), int(series.running.max()), int(series.waiting.max())
        (184, 49, 234)
    """
    path = sample_path(source)
    kind = kind_of(path) if path.is_file() else None
    if not path.is_dir() and (kind in (None, Kind.VLLM_TICKS) or _has_rates(path, kind)):
        return read_timeseries(path)
    try:
        return series_of(read_log(path))
    except InputError as error:
        argument = "measured" if error.argument == "source" else error.argument
        raise InputError(argument, error.value, error.allowed) from None


def _has_rates(path: Path, kind: Kind | None) -> bool:
    """Whether metrics as CSV have no counter of tokens, whose differences would be the rates."""
    if kind is not Kind.METRICS:
        return False
    columns = csv_header(path)
    return not any(counter_of(name) == GENERATED for name in columns)


def series_of(log: ServerLog) -> Timeseries:
    """The counters of a log, tick by tick.

    Raises:
        InputError: a log without running, waiting or generated tokens.

    Examples:
        >>> from fluidkv.logs import series_of
        >>> series = series_of(fk.read_log("sample:vllm-rtx4090"))
        >>> round(float(series.kv_cache_pct.mean()), 1), fk.measure(series).window_s
        (92.7, (20.0, 149.0))
    """
    ticks = log.ticks
    lacks = ["ticks"] if ticks is None else [n for n in _NEEDED if getattr(ticks, n) is None]
    rate = None if ticks is None else _rate(ticks)
    if ticks is None or ticks.running is None or ticks.waiting is None or rate is None:
        said = ", ".join(lacks or ["generated tokens"])
        raise InputError("source", log.source, f"a log with counters (no {said} in it)")
    return Timeseries(
        ticks.spread_s(),
        ticks.running,
        ticks.waiting,
        rate,
        kv_cache_pct=None if ticks.kv_used is None else 100 * ticks.kv_used,
        report=None if ticks.report is None else _report(ticks.report),
    )


_NEEDED = ("running", "waiting")


def _rate(ticks: LoggedTicks) -> np.ndarray | None:
    """Tokens a second; without a rate or a count, a token a step for each request that runs."""
    if ticks.generation_rate is not None:
        return ticks.generation_rate
    ends = ticks.spread_s()
    durations = np.diff(ends, prepend=2 * ends[0] - ends[1])
    if ticks.generated_tokens is not None:
        return ticks.generated_tokens / durations
    if ticks.decode_steps is not None and ticks.running is not None:
        return np.diff(ticks.decode_steps, prepend=0.0) * ticks.running / durations
    return None


def _report(report: LoadReport) -> ReadReport:
    return ReadReport(
        report.read,
        report.kept,
        tuple((reason.what, reason.rows) for reason in report.dropped_because),
        tuple((reason.what, reason.rows) for reason in report.changed_because),
    )
