"""A run as a labelled dataset."""

from enum import Enum

import numpy as np
import xarray as xr

from fluidkv.serving.arrays import RunRecords
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.reference import COUNTS
from fluidkv.serving.requests import Requests
from fluidkv.serving.rules import EngineRules

LEVELS = ("running_in", "running", "waiting", "used_blocks", "kv_tokens")
"""Counts that are levels: a window holds their mean. The others are flows: a window holds sums."""


class RunStatus(Enum):
    """How a run ended; the value is what to tell the user."""

    DONE = "every request was served"
    HORIZON = "the horizon ended with requests in flight or still to come"
    STUCK = "nothing runs, and what waits can never be admitted"


_TITLES = {
    "running_in": "requests running before scheduling",
    "running": "requests running after scheduling",
    "waiting": "requests waiting after scheduling",
    "used_blocks": "blocks held after scheduling",
    "preempt": "preemptions (evictions)",
    "admit_new": "first admissions",
    "admit_resumed": "admissions after an eviction",
    "completed": "requests completed",
    "sched_reqs": "requests that computed a token",
    "tokens": "tokens computed",
    "prefill_tokens": "tokens computed for requests that were not decoding",
    "recomputed_tokens": "tokens computed a second time or more",
    "kv_tokens": "tokens in the cache",
    "new_outputs": "tokens emitted that their client had not seen",
}
_OF_REQUESTS = {
    "arrival": ("arrival", "arrival time"),
    "admitted_at": ("admitted", "first admission"),
    "first_token_at": ("first_token", "first token"),
    "last_token_at": ("last_token", "latest token"),
    "longest_gap": ("longest_gap", "longest wait between two tokens"),
    "evictions": ("evictions", "times evicted"),
    "outputs": ("outputs", "tokens emitted and kept"),
    "finished": ("finished", "served"),
}


def as_dataset(
    records: RunRecords,
    tables: list[Requests],
    limits: list[Limits],
    clock: IterationClock,
    rules: EngineRules,
    every: int,
) -> xr.Dataset:
    """Records and what they were made from, labelled; see `serve` for the variables."""
    windows = -(-records.iterations // every)
    ended = np.arange(records.time.shape[1]) >= windows[:, None]
    last = records.iterations - (windows - 1) * every
    lengths = np.where(np.arange(ended.shape[1]) == windows[:, None] - 1, last[:, None], every)
    variables: dict[str, tuple] = {}
    for index, name in enumerate(COUNTS):
        values = records.counts[..., index]
        if every > 1 and name in LEVELS:
            values = values / lengths
        if ended.any():
            values = np.where(ended, np.nan, values)
        variables[name] = (("run", "window"), values, {"long_name": _TITLES[name]})
    variables["time"] = (
        ("run", "window"),
        np.where(ended, np.nan, records.time),
        {"long_name": "clock at the end of the window", "units": clock.unit},
    )
    if records.arrival is not None:
        variables |= _of_requests(records, tables)
    variables |= _of_runs(records, tables, limits)
    return xr.Dataset(
        variables,
        coords={"iteration": ("window", np.arange(1, ended.shape[1] + 1) * every)},
        attrs={"engine": rules.label, "unit": clock.unit, "every": every},
    )


def _of_requests(records: RunRecords, tables: list[Requests]) -> dict[str, tuple]:
    shape = records.arrival.shape if records.arrival is not None else (0, 0)
    variables: dict[str, tuple] = {}
    for field, (name, title) in _OF_REQUESTS.items():
        variables[name] = (("run", "request"), getattr(records, field), {"long_name": title})
    for name in ("input_length", "output_length", "class_index"):
        column = np.full(shape, -1, np.int64)  # a run with fewer requests is padded
        for run, table in enumerate(tables):
            column[run, : len(table)] = getattr(table, name)
        variables[name] = (("run", "request"), column, {"long_name": name.replace("_", " ")})
    return variables


def _of_runs(records: RunRecords, tables: list[Requests], limits: list[Limits]) -> dict[str, tuple]:
    sizes = np.array([len(table) for table in tables])
    status = np.where(records.stuck, "STUCK", np.where(records.done == sizes, "DONE", "HORIZON"))
    return {
        "status": ("run", status, {"long_name": "how the run ended (RunStatus)"}),
        "iterations": ("run", records.iterations, {"long_name": "iterations run"}),
        "served": ("run", records.done, {"long_name": "requests served"}),
        "requests": ("run", sizes, {"long_name": "requests in the run"}),
        "blocks": (
            "run",
            np.array([li.blocks for li in limits]),
            {"long_name": "blocks of memory"},
        ),
        "block_size": ("run", np.array([li.block_size for li in limits]), {"units": "token"}),
    }
