"""Chains that have been run, as a dataset."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from jaxtyping import Int
from numpy.typing import ArrayLike

from fluidkv.labels import Column, dataset
from fluidkv.wait.chain.chains import NEVER
from fluidkv.wait.chain.model import arrival_rates
from fluidkv.wait.chain.plan import CHAIN_RECORDS, ChainSpec, Plan
from fluidkv.wait.chain.runs import Run

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
_OF_SYSTEM = {
    "segments": ("segments or types", "1"),
    "arrival_rate": ("arrivals of all types", "request / time"),
    "base": ("d0, of each iteration", "time"),
    "per_kv_token": ("d1, of each token", "time / token"),
    "per_prefill_token": ("d2, of each token of prefill", "time / token"),
    "horizon": ("where a run ends", "time"),
    "memory": ("level that is watched", "token"),
}
NAMES = frozenset(
    {*CHAIN_RECORDS, *_OF_RUN, *_OF_SEGMENT, *_OF_SYSTEM, "threshold"}
    | {"system", "run", "segment", "iteration", "each_queue", "each_time"}
)
"""What a dataset of chains may have; a coordinate needs another name."""


def dataset_of(plan: Plan, run: Run, coords: Mapping[str, Column]) -> xr.Dataset:
    """Dimensions system, run, segment (and iteration, for records; NaN after a run's end).

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
    state, sums, specs = run.state, run.sums, plan.specs

    def whole(values: ArrayLike) -> Int[np.ndarray, "system run ..."]:
        return by_run(values).astype(np.int64)

    def by_run(values: ArrayLike) -> np.ndarray:
        """(system, run, *segment), from ([segment,] lane)."""
        values = np.asarray(values).T
        return values.reshape(len(specs), plan.runs, *values.shape[1:])

    time, iterations = by_run(state.time), whole(state.iterations)
    columns = {
        "time": time,
        "iterations": iterations,
        "stuck": whole(sums.stuck),
        "idle_time": by_run(sums.idle),
        **_flows(plan, whole(state.queue), whole(state.batches)),
        "in_system": by_run(sums.area) / time,
        "peak_held": by_run(sums.peak),
        "queue": whole(state.queue),
        "batches": whole(state.batches),
        "mean_queue": whole(sums.queue_sum) / iterations[..., None],
        "max_queue": whole(sums.queue_max),
    }
    watched = {spec.memory for spec in specs}
    if watched != {np.inf}:
        exceeded = by_run(sums.exceeded)
        columns["exceeded"] = np.where(np.isinf(exceeded), np.nan, exceeded)
    variables = {
        name: _column(("system", "run", "segment")[: columns[name].ndim], columns[name], *title)
        for name, title in (_OF_RUN | _OF_SEGMENT).items()
        if name in columns
    }
    for name, values in run.records.items():
        # From (iteration, [segment,] lane), NaN after a run's end.
        ordered = np.moveaxis(values, -1, 0).reshape(*iterations.shape, *values.shape[:-1])
        done = (np.arange(len(values)) < iterations[..., None]).reshape(
            *iterations.shape, -1, *(1,) * (values.ndim - 2)
        )
        dims = ("system", "run", "iteration", "segment")[: ordered.ndim]
        label = f"each_{name}" if name in columns else name
        variables[label] = _column(dims, np.where(done, ordered, np.nan), *CHAIN_RECORDS[name])
    level = watched.pop() if len(watched) == 1 else np.inf
    found = dataset(
        variables,
        {**_of_systems(specs), **coords} if plan.many else {},
        seed=plan.seed,
        memory=None if np.isinf(level) else level,
    )
    return found if plan.many else found.isel(system=0, drop=True)


def _flows(
    plan: Plan,
    queue: Int[np.ndarray, "system run segment"],
    batches: Int[np.ndarray, "system run segment"],
) -> dict[str, Int[np.ndarray, "system run"]]:
    """Of whole runs: where everybody is says them."""
    chain = plan.chains
    n, span = np.where(chain.threshold < NEVER, chain.threshold, 0), chain.span
    n, span = n.T[:, None].astype(np.int64), span.T[:, None].astype(np.int64)
    came = (queue + n * batches)[..., : 1 if chain.nested else None].sum(axis=-1)
    inside = (queue + n * np.minimum(batches, span - 1)).sum(axis=-1)
    filling = np.minimum(batches, span)
    computed = n * (filling * (filling + 1) // 2 + np.maximum(batches - span, 0) * span)
    prefills = n * batches * (chain.boundary_tokens == 0).T[:, None]
    outputs = (computed - prefills).sum(axis=-1)
    return {"arrived": came, "completed": came - inside, "output_tokens": outputs}


def _column(dims: tuple[str, ...], values: ArrayLike, title: str, unit: str) -> Column:
    return dims, values, unit, title


def _of_systems(specs: Sequence[ChainSpec]) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    for name, title in _OF_SYSTEM.items():
        values = [_of_spec(spec, name) for spec in specs]
        if name in ("segments", "arrival_rate") or len(set(values)) > 1:
            columns[name] = _column(("system",), values, *title)
    levels = np.zeros((len(specs), max(len(spec.thresholds) for spec in specs)), np.int64)
    for row, spec in zip(levels, specs, strict=True):
        row[: len(spec.thresholds)] = spec.thresholds
    columns["threshold"] = _column(
        ("system", "segment"), levels, "n; 0 beyond the last segment", "request"
    )
    return columns


def _of_spec(spec: ChainSpec, name: str) -> float:
    if name == "segments":
        return len(spec.thresholds)
    if name == "arrival_rate":
        return float(sum(arrival_rates(spec.model)))
    return getattr(spec if name in ("horizon", "memory") else spec.clock, name)
