"""Chains that have been run, as a dataset."""

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr
from jaxtyping import Int
from numpy.typing import ArrayLike

from fluidkv.labels import Column, dataset
from fluidkv.wait.chain.asked import Asked, AskedChain
from fluidkv.wait.chain.engine import Found
from fluidkv.wait.chain.lanes import Lanes
from fluidkv.wait.chain.numbers import Shape, arrival_rates
from fluidkv.wait.segments import Segments

CHAIN_RECORDS = {
    "queue": ("prompts before each segment, before any wait", "request"),
    "wait": ("time waited before the batch", "time"),
    "waited": ("arrivals to each segment during the wait", "request"),
    "joined": ("segments in the batch", "1"),
    "kv_tokens": ("tokens in the batch", "token"),
    "held_tokens": ("tokens in memory", "token"),
    "entered": ("prompts that came to wait before each segment during the iteration", "request"),
    "time": ("the clock after the iteration", "time"),
}
"""What `simulate_chain` can record of each iteration -> (what it is, unit).

>>> from fluidkv.wait import CHAIN_RECORDS
>>> sorted(CHAIN_RECORDS)
['entered', 'held_tokens', 'joined', 'kv_tokens', 'queue', 'time', 'wait', 'waited']
>>> CHAIN_RECORDS["joined"]
('segments in the batch', '1')
"""

_OF_RUN = {
    "time": ("clock at the end of the last iteration", "time"),
    "iterations": ("iterations", "iteration"),
    "stuck": ("iterations that waited first", "iteration"),
    "idle_time": ("time waited", "time"),
    "arrived": ("prompts that came", "request"),
    "completed": ("prompts that computed their last stage", "request"),
    "output_tokens": ("output tokens emitted", "token"),
    "in_system": ("prompts in the system, mean over time", "request"),
    "peak_held": ("most tokens in memory in an iteration", "token"),
    "exceeded": ("start of the first iteration above the level", "time"),
}
_OF_SEGMENT = {
    "queue": ("prompts that wait at the end", "request"),
    "batches": ("batches", "1"),
    "mean_queue": ("prompts before the segment, mean over iterations", "request"),
    "max_queue": ("most prompts before the segment at the start of an iteration", "request"),
}
_OF_SYSTEM: dict[str, tuple[Callable[[AskedChain], float], str, str]] = {
    "segments": (lambda one: len(one.thresholds), "1", "segments or types"),
    "arrival_rate": (lambda one: _rate(one), "request / time", "arrivals of all types"),
    "base": (lambda one: one.clock.base, "time", "d0, of each iteration"),
    "per_kv_token": (lambda one: one.clock.per_kv_token, "time / token", "d1, of each token"),
    "per_prefill_token": (
        lambda one: one.clock.per_prefill_token,
        "time / token",
        "d2, of each token of prefill",
    ),
    "horizon": (lambda one: one.horizon, "time", "where a run ends"),
    "memory": (lambda one: one.memory, "token", "level that is watched"),
}
NAMES = frozenset(
    {*CHAIN_RECORDS, *_OF_RUN, *_OF_SEGMENT, *_OF_SYSTEM, "threshold"}
    | {"system", "run", "segment", "iteration", "each_queue", "each_time"}
)
"""What a dataset of chains may have; a coordinate needs another name."""


def dataset_of(
    asked: Asked, lanes: Lanes, found: Found, said: dict[str, Column], seed: int
) -> xr.Dataset:
    """Dimensions run, segment (and iteration, for records; NaN after a run's end); system first
    where there are several.

    Of the records, `queue` and `time` are called `each_queue` and `each_time`, since these names
    are taken; `wait`, `waited`, `joined` and the others have their own.
    Of a run: time (clock), iterations, stuck (iterations that waited first), idle_time, arrived,
    completed (prompts), output_tokens (emitted; the prefill emits none), in_system (prompts, mean
    over time; expected given all counts and the clock), peak_held (tokens, most in an iteration,
    the last one included), exceeded (start of the first iteration above `memory`; NaN: none).
    Of a segment, or type, in order: queue (prompts that wait at the end), batches, mean_queue and
    max_queue (at the start of iterations, before waiting); 0 beyond a system's own.
    Of several systems, as coordinates: `segments`, how many each has, `threshold` (system, segment)
    with 0 beyond them, `arrival_rate`, and of the clock, `horizon` and `memory` what differs.
    """
    whole = (len(lanes.chains), lanes.runs)
    chain = found.chain

    def of_run(values: ArrayLike) -> np.ndarray:
        return np.asarray(values).reshape(whole)

    def of_segment(values: ArrayLike) -> np.ndarray:
        return np.asarray(values).T.astype(np.int64).reshape(*whole, lanes.segments)

    queue, batches = of_segment(chain.queue), of_segment(chain.batches)
    arrived, completed, tokens = _flows(asked, lanes, queue, batches)
    time, exceeded = of_run(chain.time), of_run(chain.exceeded)
    iterations = of_run(chain.iterations).astype(np.int64)
    runs = {
        "time": time,
        "iterations": iterations,
        "stuck": of_run(chain.stuck).astype(np.int64),
        "idle_time": of_run(chain.idle),
        "arrived": arrived,
        "completed": completed,
        "output_tokens": tokens,
        "in_system": of_run(chain.area) / time,
        "peak_held": of_run(chain.peak),
    }
    if asked.watched:
        runs["exceeded"] = np.where(np.isinf(exceeded), np.nan, exceeded)
    segments = {
        "queue": queue,
        "batches": batches,
        "mean_queue": of_segment(chain.queue_sum) / iterations[..., None],
        "max_queue": of_segment(chain.queue_max),
    }
    variables: dict[str, Column] = {
        **_titled(("system", "run"), runs, _OF_RUN),
        **_titled(("system", "run", "segment"), segments, _OF_SEGMENT),
    }
    variables |= _records(found, iterations, set(variables))
    memories = {one.memory for one in asked.chains}
    level = memories.pop() if asked.watched and len(memories) == 1 else None
    made = dataset(variables, _of_systems(asked, lanes) | said, seed=seed, memory=level)
    return made if asked.several else made.isel(system=0, drop=True)


def _titled(
    dims: tuple[str, ...],
    columns: Mapping[str, np.ndarray],
    titles: Mapping[str, tuple[str, str]],
) -> dict[str, Column]:
    return {name: (dims, columns[name], titles[name][1], titles[name][0]) for name in columns}


def _records(found: Found, iterations: Int[np.ndarray, "system run"], taken: set[str]) -> dict:
    columns: dict[str, Column] = {}
    for name, values in found.records.items():
        # From (iteration, [segment,] lane), NaN after a run's end.
        ordered = np.moveaxis(values, -1, 0).reshape(*iterations.shape, *values.shape[:-1])
        done = np.arange(len(values)) < iterations[..., None]
        done = done[..., None] if values.ndim == 3 else done
        dims = ("system", "run", "iteration", "segment")[: 2 + values.ndim - 1]
        shown = {f"each_{name}" if name in taken else name: np.where(done, ordered, np.nan)}
        columns |= _titled(dims, shown, dict.fromkeys(shown, CHAIN_RECORDS[name]))
    return columns


def _of_systems(asked: Asked, lanes: Lanes) -> dict[str, Column]:
    found: dict[str, Column] = {}
    for name, (read, unit, title) in _OF_SYSTEM.items():
        values = [read(one) for one in asked.chains]
        if name in ("segments", "arrival_rate") or len(set(values)) > 1:
            found[name] = "system", values, unit, title
    levels = np.zeros((len(asked.chains), lanes.segments), np.int64)
    for row, one in zip(levels, asked.chains, strict=True):
        row[: len(one.thresholds)] = one.thresholds
    found["threshold"] = ("system", "segment"), levels, "request", "n; 0 beyond the last segment"
    return found if asked.several else {}


def _rate(one: AskedChain) -> float:
    return float(sum(arrival_rates(one.model)))


def _flows(
    asked: Asked,
    lanes: Lanes,
    queue: Int[np.ndarray, "system run segment"],
    batches: Int[np.ndarray, "system run segment"],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrivals, completions and output tokens of each run: where everybody is says them."""

    def column(read: Callable[[Shape], int], fill: int) -> np.ndarray:
        rows = np.full((len(lanes.chains), 1, lanes.segments), fill, np.int64)
        for row, chain in zip(rows, lanes.chains, strict=True):
            row[0, : len(chain.shapes)] = [read(shape) for shape in chain.shapes]
        return rows

    n, span = column(lambda shape: shape.threshold, 0), column(lambda shape: shape.span, 1)
    entered = queue + n * batches  # who ever waited before the segment
    passed = n * np.maximum(batches - span + 1, 0)
    filling = np.minimum(batches, span)
    computed = n * (filling * (filling + 1) // 2 + np.maximum(batches - span, 0) * span)
    if not isinstance(asked.chains[0].model, Segments):
        prefills = n * batches
        return entered.sum(axis=-1), passed.sum(axis=-1), (computed - prefills).sum(axis=-1)
    arrived, prefills = entered[..., 0], n[..., 0] * batches[..., 0]
    completed = passed.sum(axis=-1) - entered[..., 1:].sum(axis=-1)
    return arrived, completed, computed.sum(axis=-1) - prefills
