"""The same requests through servers of many sizes, and what each of them measured.

With replicas requests are dealt out in turn, and what clients see is taken over all of them
together. A fleet of one measures what `fluidkv.runs.measuring.metrics` says of its run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.answers.size.sizes import Size
from fluidkv.record import Record
from fluidkv.runs.dataset import RunStatus
from fluidkv.runs.measuring import TITLES_OF_REQUESTS, Span, metrics, statistics, times
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.run import one_by_one
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server

NEAR_FULL = 0.95
"""Share of the blocks from which on memory counts as nearly full."""

EXTRAS: Mapping[str, str] = {
    "peak_kv": "most tokens in the cache of a replica",
    "peak_share": "most blocks held, share of a replica's",
    "near_full": f"share of the time with {NEAR_FULL:.0%} of the blocks held or more",
    "unfinished": "runs that ended with requests that were not served",
}
"""What is measured here besides the metrics of `fluidkv.runs.measuring` -> what it is."""

Values = Mapping[str, Float[np.ndarray, " run"]]


@dataclass(frozen=True, eq=False)
class SizedServer(Record):
    """What does not change with the size.

    Fields:
        engine: as `serve` takes it.
        limits: block size and caps; its capacity is not looked at.
        clock: duration of an iteration.
        tables: the requests of each run, at speed 1.
        every: iterations of a record.
        backend: of `serve`.
    """

    engine: str | EngineRules
    limits: Limits
    clock: IterationClock
    tables: Sequence[Requests]
    every: int = 1
    backend: Literal["auto", "kernel", "reference"] = "auto"

    def limits_at(self, size: Size) -> Limits:
        return replace(self.limits, capacity=size.blocks * self.limits.block_size)

    @property
    def one_by_one(self) -> bool:
        """Whether runs go one after the other, so that a batch saves nothing."""
        return one_by_one(self.engine)


def measured_sizes(server: SizedServer, sizes: Sequence[Size]) -> dict[Size, Values]:
    """Metrics of each run at each size, in one call of `serve`: of each size, run and replica.

    Raises:
        InputError: as `serve`.
    """
    fleets = [(size, dealt_out(table, size)) for size in sizes for table in server.tables]
    run = serve(
        [table for _, tables in fleets for table in tables],
        Server(
            server.engine,
            [server.limits_at(size) for size, tables in fleets for _ in tables],
            clock=server.clock,
            backend=server.backend,
        ),
        every=server.every,
    )
    values = measured(run, [len(tables) for _, tables in fleets])
    width = len(server.tables)
    return {
        size: {name: column[place * width : (place + 1) * width] for name, column in values.items()}
        for place, size in enumerate(sizes)
    }


def dealt_out(table: Requests, size: Size) -> list[Requests]:
    """The requests of each replica, in turn, at the speed of a size; none for a replica without."""
    dealt = [slice(first, None, size.replicas) for first in range(min(size.replicas, len(table)))]
    columns = {field.name: getattr(table, field.name) for field in fields(table)}
    columns["arrival"] = table.arrival / size.speed
    return [Requests(**{name: column[part] for name, column in columns.items()}) for part in dealt]


# --- what is measured ---------------------------------------------------------------------------

_SUMS = ("completions", "preemptions", "admissions", "running_mean", "queue_mean", "censored")
_FLOWS = ("new_outputs", "tokens", "recomputed_tokens")
_RATES = {  # over the longest run of a fleet -> the flow
    "throughput": "completions",
    "output_throughput": "new_outputs",
    "preemption_rate": "preemptions",
    "throughput_per_time": "completions",
    "output_throughput_per_time": "new_outputs",
}


def measured(run: xr.Dataset, fleets: Sequence[int]) -> dict[str, Float[np.ndarray, " fleet"]]:
    """What fleets achieved, each of so many runs in a row.

    Args:
        run: from `serve`, until every request is done.
        fleets: replicas of each.

    Returns:
        As `fluidkv.runs.measuring.metrics`, over all replicas of a fleet, and `EXTRAS`. Counts and
        queues are added up; an hour is the longest of the replicas', in rates; shares are of all
        tokens, or means over replicas.
    """
    ends = np.cumsum(fleets)
    rows = [np.arange(end - size, end) for end, size in zip(ends, fleets, strict=True)]
    of_runs = {str(name): column.values for name, column in metrics(run).data_vars.items()}
    of_runs |= _extras(run)
    of_runs |= {name: np.nansum(_windows(run, name), axis=1) for name in _FLOWS}

    def over(values: np.ndarray, how: Callable[[np.ndarray], float]) -> np.ndarray:
        return np.array([how(values[row]) for row in rows], float)

    found = {name: over(of_runs[name], np.sum) for name in (*_SUMS, "unfinished")}
    found |= {name: over(of_runs[name], np.max) for name in ("iterations", "duration", "peak_kv")}
    found |= {name: over(of_runs[name], np.mean) for name in ("utilisation", "near_full")}
    found["peak_share"] = over(of_runs["peak_share"], np.max)
    for name, flow in _RATES.items():
        per = found["duration" if name.endswith("per_time") else "iterations"]
        found[name] = over(of_runs[flow], np.sum) / per
    tokens, again = (over(of_runs[name], np.sum) for name in ("tokens", "recomputed_tokens"))
    found["recompute_tax"] = again / np.where(tokens > 0, tokens, np.nan)
    if len(fleets) == len(of_runs["completions"]):  # of one replica each
        return found | {name: values for name, values in of_runs.items() if _of_a_request(name)}
    return found | _of_requests(run, rows)


def _windows(run: xr.Dataset, name: str) -> np.ndarray:
    """[run, window]"""
    return run.variables[name].transpose("run", "window").values


def _extras(run: xr.Dataset) -> dict[str, np.ndarray]:
    share = _windows(run, "used_blocks") / run.variables["blocks"].values[:, None]
    ends = _windows(run, "time")
    lasts = np.nan_to_num(np.diff(ends, axis=1, prepend=0.0))
    nearly = np.where(share >= NEAR_FULL, lasts, 0.0)
    return {
        "peak_kv": np.nanmax(_windows(run, "kv_tokens"), axis=1),
        "peak_share": np.nanmax(share, axis=1),
        "near_full": nearly.sum(axis=1) / lasts.sum(axis=1),
        "unfinished": (run.variables["status"].values != RunStatus.DONE.name).astype(float),
    }


def _of_a_request(metric: str) -> bool:
    return metric.rpartition("_")[0] in TITLES_OF_REQUESTS


def _of_requests(run: xr.Dataset, rows: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Latencies over all requests of a fleet."""
    found = {}
    for metric in TITLES_OF_REQUESTS:
        values = times(run, metric, Span(0.0, np.inf)).transpose("run", "request").values
        width = max(values[row].size for row in rows)
        joined = np.full((len(rows), width), np.nan)
        for place, row in enumerate(rows):
            joined[place, : values[row].size] = values[row].ravel()
        pooled = statistics(xr.DataArray(joined, dims=("run", "request")))
        found |= {f"{metric}_{name}": column.values for name, column in pooled.items()}
    return found
