"""Runs of WAIT and Nested WAIT as a labelled dataset, as `serve` labels its own."""

from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int

from fluidkv.serving.requests import Requests
from fluidkv.wait.policy import Policy
from fluidkv.wait.runs.history import PromptTimes
from fluidkv.wait.runs.literal import Outcome
from fluidkv.wait.runs.reference import COUNTS

LEVELS = ("running", "paused", "waiting", "joined", "kv_tokens", "used_blocks")
"""Counts that are levels: a window holds their mean. The others are flows: a window holds sums."""

_TITLES = {
    "running": "prompts in the batch",
    "paused": "prompts that hold memory and are not in the batch",
    "waiting": "prompts that have come and hold no memory",
    "joined": "types or segments in the batch",
    "preempt": "preemptions (evictions)",
    "admit_new": "first admissions",
    "admit_resumed": "admissions after an eviction",
    "completed": "prompts completed",
    "kv_tokens": "tokens that the batch holds",
    "used_blocks": "tokens held, by the batch and the paused",
    "new_outputs": "tokens emitted that their client had not seen",
    "completed_outputs": "output tokens of the prompts completed",
    "tokens": "tokens computed",
    "recomputed_tokens": "tokens computed a second time or more",
}
_OF_REQUESTS = {
    "admitted": "first admission",
    "first_token": "end of stage 1",
    "last_token": "latest token",
    "longest_gap": "longest wait between two tokens",
    "evictions": "times evicted",
    "outputs": "tokens emitted and kept",
    "finished": "served",
}
_NAMES = tuple("used_blocks" if name == "held_tokens" else name for name in COUNTS)
_LEVEL = np.array([name in LEVELS for name in _NAMES])
_HELD = COUNTS.index("held_tokens")
_COMPLETED = COUNTS.index("completed")


class Record(NamedTuple):
    """One run in windows."""

    counts: Float[np.ndarray, "window count"] | Int[np.ndarray, "window count"]
    peak: Int[np.ndarray, " window"]
    time: Float[np.ndarray, " window"]
    iterations: int
    served: int
    stuck: bool
    prompts: PromptTimes | None


def record_of(outcome: Outcome, every: int) -> Record:
    """Means of levels, sums of flows, the peak of what is held, the clock at a window's end."""
    counts, time = outcome.counts, outcome.time
    held, size = counts[:, _HELD], len(time)
    served = int(counts[:, _COMPLETED].sum())
    if every > 1 and size:
        first = np.arange(0, size, every)
        end = np.minimum(first + every, size)
        counts = np.add.reduceat(counts, first)
        counts = np.where(_LEVEL, counts / (end - first)[:, None], counts)
        held, time = np.maximum.reduceat(held, first), time[end - 1]
    return Record(counts, held, time, size, served, outcome.stuck, outcome.prompts)


def as_dataset(
    records: list[Record],
    tables: list[Requests],
    policies: list[Policy],
    capacities: list[int | None],
    unit: str,
    every: int,
) -> xr.Dataset:
    """Records and what they were made from, labelled; see `run_policy` for the variables."""
    windows = max(1, *(len(record.time) for record in records))
    variables: dict[str, tuple] = {}
    for index, name in enumerate(_NAMES):
        rows = [record.counts[:, index] for record in records]
        variables[name] = (
            ("run", "window"),
            _together(rows, windows),
            {"long_name": _TITLES[name]},
        )
    peak = _together([record.peak for record in records], windows)
    time = _together([record.time for record in records], windows)
    variables |= {
        "peak_tokens": (
            ("run", "window"),
            peak,
            {"long_name": "most tokens held", "units": "token"},
        ),
        "time": (
            ("run", "window"),
            time,
            {"long_name": "clock at the end of the window", "units": unit},
        ),
    }
    if all(record.prompts is not None for record in records):
        variables |= _of_requests([r.prompts for r in records if r.prompts is not None], tables)
    variables |= _of_runs(records, tables, capacities)
    return xr.Dataset(
        variables,
        coords={"iteration": ("window", np.arange(1, windows + 1) * every)},
        attrs={
            "engine": ", ".join(dict.fromkeys(policy.label for policy in policies)),
            "unit": unit,
            "every": every,
        },
    )


def _of_requests(prompts: list[PromptTimes], tables: list[Requests]) -> dict[str, tuple]:
    size = max(len(table) for table in tables)
    columns: dict[str, tuple[list[np.ndarray], object, str]] = {
        name: ([getattr(table, name) for table in tables], fill, title)
        for name, fill, title in (
            ("arrival", np.nan, "arrival time"),
            ("input_length", -1, "input length"),
            ("output_length", -1, "output length"),
            ("class_index", -1, "class index"),
        )
    }
    for name, title in _OF_REQUESTS.items():
        rows = [getattr(times, name) for times in prompts]
        columns[name] = rows, np.nan if rows[0].dtype == np.float64 else 0, title
    return {
        name: (("run", "request"), _together(rows, size, fill), {"long_name": title})
        for name, (rows, fill, title) in columns.items()
    }


def _of_runs(
    records: list[Record], tables: list[Requests], capacities: list[int | None]
) -> dict[str, tuple]:
    sizes = np.array([len(table) for table in tables])
    served = np.array([record.served for record in records])
    stuck: Bool[np.ndarray, " run"] = np.array([record.stuck for record in records])
    status = np.where(stuck, "STUCK", "HORIZON")
    blocks = np.array([np.nan if capacity is None else capacity for capacity in capacities])
    iterations = np.array([record.iterations for record in records])
    return {
        "status": ("run", status, {"long_name": "how the run ended (RunStatus)"}),
        "iterations": ("run", iterations, {"long_name": "iterations run"}),
        "served": ("run", served, {"long_name": "prompts served"}),
        "requests": ("run", sizes, {"long_name": "prompts in the run"}),
        "blocks": ("run", blocks, {"long_name": "tokens of memory; NaN: not limited"}),
        "block_size": ("run", np.ones_like(sizes), {"units": "token"}),
    }


def _together(rows: list[np.ndarray], length: int, fill: object = np.nan) -> np.ndarray:
    """Rows below each other, filled up where they are shorter."""
    if all(len(row) == length for row in rows):
        return np.stack(rows)
    found = np.full((len(rows), length), fill)
    for row, values in zip(found, rows, strict=True):
        row[: len(values)] = values
    return found
