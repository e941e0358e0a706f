"""Runs as a labelled dataset, whatever engine or policy they are of."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from fluidkv.labels import Column, dataset
from fluidkv.runs.records import RunRecords
from fluidkv.runs.requests import Requests


class RunStatus(Enum):
    """How a run ended; the value is what to tell the user.

    Examples:
        >>> from fluidkv.runs.dataset import RunStatus
        >>> run = fk.serve(fk.Requests([4], [3]), fk.Server("vllm", fk.Limits(100)))
        >>> RunStatus[run.status.item()].value
        'every request was served'
    """

    DONE = "every request was served"
    HORIZON = "the horizon ended with requests in flight or still to come"
    STUCK = "what is left can never be served: it is not admitted, or evicts itself for ever"


class Count(NamedTuple):
    """What is counted in an iteration.

    Fields:
        title, unit: for the reader.
        level: a window holds its mean; False: it is a flow, of which a window holds the sum.
    """

    title: str
    unit: str
    level: bool = False


KNOWN_COUNTS: dict[str, Count] = {
    "running_in": Count("requests running before scheduling", "request", level=True),
    "running": Count("requests running after scheduling", "request", level=True),
    "paused": Count("requests that hold memory and do not run", "request", level=True),
    "waiting": Count("requests waiting after scheduling", "request", level=True),
    "joined": Count("types or segments in the batch", "1", level=True),
    "used_blocks": Count("blocks held after scheduling", "block", level=True),
    "kv_tokens": Count("tokens in the cache", "token", level=True),
    "cached_blocks": Count("blocks with known contents, held or not", "block", level=True),
    "distinct_blocks": Count("different contents of blocks", "block", level=True),
    "evicted_blocks": Count("contents of blocks forgotten for others", "block"),
    "found_tokens": Count("tokens found in the cache instead of computed", "token"),
    "preempt": Count("preemptions", "request"),
    "admit_new": Count("first admissions", "request"),
    "admit_resumed": Count("admissions after a preemption", "request"),
    "completed": Count("requests completed", "request"),
    "completed_outputs": Count("output tokens of the requests completed", "token"),
    "sched_reqs": Count("requests that computed a token", "request"),
    "tokens": Count("tokens computed", "token"),
    "prefill_tokens": Count("tokens computed for requests that were not decoding", "token"),
    "recomputed_tokens": Count("tokens computed a second time or more", "token"),
    "copied_tokens": Count("tokens copied to the host or back", "token"),
    "embedded": Count("times that a request was given slots in another's allocation", "1"),
    "pushed_out": Count("guests preempted since their hosts needed the slots", "request"),
    "handed_on": Count("tokens of memory that heirs got of those that completed", "token"),
    "reserved_blocks": Count("blocks of the reservation in use", "block", level=True),
    "new_outputs": Count("tokens emitted that their client had not seen", "token"),
}
"""Every count that a run may have, by its name in the dataset."""

_OF_REQUESTS = {
    "arrival": ("arrival time", "time"),
    "admitted": ("first admission", "time"),
    "first_token": ("first token", "time"),
    "last_token": ("latest token", "time"),
    "longest_gap": ("longest wait between two tokens", "time"),
    "evictions": ("times preempted", "1"),
    "outputs": ("tokens emitted and kept", "token"),
    "finished": ("served", "1"),
    "halted": ("time from preemptions to the next new token", "time"),
}

_HITS = {
    "hit_tokens": "tokens found in the cache, at all admissions",
    "first_hit_tokens": "tokens found in the cache at the first admission",
}  # of requests with a prefix cache, in the order of `RunRecords.hits`

NAMES = frozenset(
    {*KNOWN_COUNTS, *_OF_REQUESTS, *_HITS, "run", "window", "request", "iteration", "time"}
    | {"peak_tokens", "input_length", "output_length", "class_index"}
    | {"status", "iterations", "served", "requests", "blocks", "block_size"}
)
"""What a dataset of runs may have; a coordinate needs another name."""


def as_dataset(
    records: RunRecords,
    names: Sequence[str],
    tables: Sequence[Requests],
    *,
    blocks: ArrayLike,
    block_size: ArrayLike,
    every: int,
    label: str,
    unit: str,
    coords: Mapping[str, Column] | None = None,
) -> xr.Dataset:
    """Records and what they were made from, labelled; see `fluidkv.serving.run.serve`.

    Args:
        records: of all runs.
        names: of the counts, in their order, out of `KNOWN_COUNTS`.
        tables: the requests of each run.
        blocks, block_size: memory of each run; NaN blocks: not limited.
        every: iterations of a window.
        label, unit: of the engine or policy, and of its clock.
        coords: what tells runs apart, along `run`.
    """
    windows = -(-records.iterations // every)
    size = max(1, records.time.shape[1])
    place = np.arange(size)
    ended = place >= windows[:, None]
    last = records.iterations - (windows - 1) * every
    lengths = np.where(place == windows[:, None] - 1, last[:, None], every)

    def shown(values: np.ndarray) -> np.ndarray:
        """NaN after a run's end; a run may have no iteration at all."""
        if not ended.any():
            return values
        return np.where(ended, np.nan, values if values.shape[1] else np.nan)

    found = {}
    for index, name in enumerate(names):
        values, count = records.counts[..., index], KNOWN_COUNTS[name]
        if every > 1 and count.level:
            values = values / lengths[:, : values.shape[1]]
        found[name] = shown(values), count.title, count.unit
    found["time"] = shown(records.time), "clock at the end of the window", unit
    if records.peak is not None:
        found["peak_tokens"] = shown(records.peak), "most tokens held", "token"
    variables = labelled(("run", "window"), found)
    if records.requests is not None:
        variables |= _of_requests(records, tables, unit)
    ends = np.arange(1, size + 1) * every
    variables |= _of_runs(records, tables, blocks, block_size)
    if records.hits is not None:
        found = {n: (records.hits[:, k], t, "token") for k, (n, t) in enumerate(_HITS.items())}
        variables |= labelled(("run", "request"), found)
    return dataset(
        variables,
        {"iteration": ("window", ends, "iteration", "last iteration of the window")}
        | dict(coords or {}),
        engine=label,
        unit=unit,
        every=every,
    )


def labelled(
    dims: str | tuple[str, ...], columns: Mapping[str, tuple[ArrayLike, str, str]]
) -> dict[str, Column]:
    """name -> (values, title, unit), as columns with these dimensions."""
    return {name: (dims, values, unit, title) for name, (values, title, unit) in columns.items()}


def _of_requests(records: RunRecords, tables: Sequence[Requests], unit: str) -> dict[str, Column]:
    assert records.requests is not None  # the caller looked
    columns: dict[str, tuple] = {}
    for name, (title, measure) in _OF_REQUESTS.items():
        values = getattr(records.requests, name)
        columns[name] = values, title, unit if measure == "time" else measure
    for name, measure in (
        ("input_length", "token"),
        ("output_length", "token"),
        ("class_index", "1"),
    ):
        column = _column(name, tables, records.requests.arrival.shape)
        columns[name] = column, name.replace("_", " "), measure
    return labelled(("run", "request"), columns)


def _column(name: str, tables: Sequence[Requests], shape: tuple[int, ...]) -> np.ndarray:
    """A column of all tables; -1 behind those with fewer requests."""
    column = np.zeros(shape, np.int64)
    for run, table in enumerate(tables):
        values = getattr(table, name)
        if values.any():  # zeros cost nothing, here and until somebody reads them
            column[run, : len(table)] = values
        column[run, len(table) :] = -1
    return column


def _of_runs(
    records: RunRecords, tables: Sequence[Requests], blocks: ArrayLike, block_size: ArrayLike
) -> dict[str, Column]:
    sizes = np.array([len(table) for table in tables])
    done = np.where(records.done == sizes, RunStatus.DONE.name, RunStatus.HORIZON.name)
    return labelled(
        "run",
        {
            "status": (
                np.where(records.stuck, RunStatus.STUCK.name, done),
                "how the run ended (RunStatus)",
                "1",
            ),
            "iterations": (records.iterations, "iterations run", "iteration"),
            "served": (records.done, "requests served", "request"),
            "requests": (sizes, "requests in the run", "request"),
            "blocks": (np.asarray(blocks), "blocks of memory; NaN: not limited", "block"),
            "block_size": (np.asarray(block_size), "tokens of a block", "token"),
        },
    )
