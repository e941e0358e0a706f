"""The same requests through servers of many sizes, and what each of them measured.

With replicas requests are dealt out in turn, and what clients see is taken over all of them
together. A fleet of one measures what `fluidkv.runs.measuring.metrics` says of its run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.answers.size.plan import Plan
from fluidkv.answers.size.sizes import Size
from fluidkv.runs.dataset import RunStatus
from fluidkv.runs.measuring import TITLES_OF_REQUESTS, Span, statistics, times
from fluidkv.runs.requests import Requests

NEAR_FULL = 0.95
"""Share of the blocks from which on memory counts as nearly full."""

EXTRAS: Mapping[str, tuple[str, str]] = {
    "peak_kv": ("token", "most tokens in the cache of a replica"),
    "peak_share": ("1", "most blocks held, share of a replica's"),
    "near_full": ("1", f"share of the time with {NEAR_FULL:.0%} of the blocks held or more"),
    "unfinished": ("1", "runs that ended with requests that were not served"),
}
"""What is measured here besides the metrics of `fluidkv.runs.measuring` -> units, what it is."""

Values = Mapping[str, Float[np.ndarray, " run"]]


def measured_sizes(plan: Plan, sizes: Sequence[Size]) -> dict[Size, Values]:
    """Metrics of each run at each size; every replica is a server of the experiment.

    Raises:
        InputError: as `serve`.
    """
    fleets = [replicas_of(size, plan.tables) for size in sizes]
    cases = [
        plan.case_of(size, tables)
        for size, fleet in zip(sizes, fleets, strict=True)
        for tables in fleet
    ]
    wide = max(map(len, plan.tables)) if len(cases) > len(sizes) else 0
    table = plan.measured(cases, plan.backend, also=lambda run: _extras(run, wide)).table
    columns = {str(name): column.values for name, column in table.variables.items()}
    ends = np.cumsum([len(fleet) for fleet in fleets]).tolist()
    return {
        size: fleet_metrics({name: of[end - len(fleet) : end] for name, of in columns.items()})
        for size, fleet, end in zip(sizes, fleets, ends, strict=True)
    }


def replicas_of(size: Size, tables: Sequence[Requests]) -> list[list[Requests]]:
    """The requests of each replica in each run: in turn, at the speed of a size."""
    return [
        [_dealt(table, size, slice(place, None, size.replicas)) for table in tables]
        for place in range(size.replicas)
    ]


def _dealt(table: Requests, size: Size, part: slice) -> Requests:
    columns = {field.name: getattr(table, field.name) for field in fields(table)}
    columns["arrival"] = table.arrival / size.speed
    return Requests(**{name: column[part] for name, column in columns.items()})


def worst_of(values: Values, metric: str) -> float:
    """A metric in its worst run."""
    least = metric.startswith(("output", "throughput"))
    return float(values[metric].min() if least else values[metric].max())


# --- what is measured ---------------------------------------------------------------------------

_SUMS = (
    *("completions", "preemptions", "admissions", "running_mean", "queue_mean", "censored"),
    "unfinished",
)
_MOST, _MEANS = ("iterations", "duration", "peak_kv", "peak_share"), ("utilisation", "near_full")
_FLOWS = ("new_outputs", "tokens", "recomputed_tokens")
_RATES = {  # over the longest run of a fleet -> the flow
    "throughput": "completions",
    "output_throughput": "new_outputs",
    "preemption_rate": "preemptions",
    "throughput_per_time": "completions",
    "output_throughput_per_time": "new_outputs",
}


def fleet_metrics(columns: Mapping[str, Float[np.ndarray, "replica run ..."]]) -> Values:
    """What a fleet achieved.

    Args:
        columns: metrics and `EXTRAS` [replica, run] of each of its servers, until every request is
            done; of several also times [replica, run, request].

    Returns:
        As `fluidkv.runs.measuring.metrics`, over all replicas, and `EXTRAS`. Counts and queues are
        added up; an hour is the longest of the replicas', in rates; shares are of all tokens, or
        means over replicas.
    """
    alone = len(columns["completions"]) == 1

    def over(name: str, how: Callable[[np.ndarray], float]) -> np.ndarray:
        of = columns[name]
        return of[0].astype(float) if alone else np.apply_along_axis(how, 0, of).astype(float)

    of_fleet = {name: over(name, np.sum) for name in _SUMS}
    of_fleet |= {name: over(name, np.max) for name in _MOST}
    of_fleet |= {name: over(name, np.mean) for name in _MEANS}
    for name, flow in _RATES.items():
        per = of_fleet["duration" if name.endswith("per_time") else "iterations"]
        of_fleet[name] = over(flow, np.sum) / per
    tokens, again = (over(name, np.sum) for name in ("tokens", "recomputed_tokens"))
    of_fleet["recompute_tax"] = again / np.where(tokens > 0, tokens, np.nan)
    if alone:
        return of_fleet | {n: of[0] for n, of in columns.items() if _of_a_request(n)}
    for metric in TITLES_OF_REQUESTS:
        together = np.concatenate(columns[metric], axis=-1)
        pooled = statistics(xr.DataArray(together, dims=("run", "request")))
        of_fleet |= {f"{metric}_{name}": column.values for name, column in pooled.items()}
    return of_fleet


def _of_a_request(metric: str) -> bool:
    return metric.rpartition("_")[0] in TITLES_OF_REQUESTS


def _extras(run: xr.Dataset, wide: int) -> xr.Dataset:
    """Of each run, `EXTRAS` and flows; of fleets also the times of so many requests."""

    def windows(name: str) -> np.ndarray:
        return run.variables[name].transpose("run", "window").values

    share = windows("used_blocks") / run.variables["blocks"].values[:, None]
    lasts = np.nan_to_num(np.diff(windows("time"), axis=1, prepend=0.0))
    nearly = np.where(share >= NEAR_FULL, lasts, 0.0)
    columns = {
        "peak_kv": np.nanmax(windows("kv_tokens"), axis=1),
        "peak_share": np.nanmax(share, axis=1),
        "near_full": nearly.sum(axis=1) / lasts.sum(axis=1),
        "unfinished": (run.variables["status"].values != RunStatus.DONE.name).astype(float),
        **{name: np.nansum(windows(name), axis=1) for name in _FLOWS},
    }
    extras = xr.Dataset({name: ("run", column) for name, column in columns.items()})
    for metric in TITLES_OF_REQUESTS if wide else ():
        values = times(run, metric, Span(0.0, np.inf)).transpose("run", "request").values
        padded = np.pad(values, ((0, 0), (0, wide - values.shape[1])), constant_values=np.nan)
        extras[metric] = ("run", "place"), padded
    return extras
