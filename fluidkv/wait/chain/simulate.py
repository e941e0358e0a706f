"""`simulate_chain`: many runs of chains of counts, as a labelled dataset.

Counts follow from few numbers a segment (`fluidkv.wait.chain.counts`), so that thousands of runs
go together through one compiled rollout (`fluidkv.wait.chain.runs`).

Source: WAIT, Algorithms 1 and 2.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Int
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.labels import Column, Said, dataset, said_columns
from fluidkv.runs.batch import Progress
from fluidkv.runs.checks import above_0, count
from fluidkv.runs.rates import RateSteps
from fluidkv.runs.values import one_each
from fluidkv.wait.chain.counts import NEVER, CountChain, beside, check_growth, count_chain
from fluidkv.wait.chain.model import Model
from fluidkv.wait.chain.runs import CHAIN_RECORDS, Plan, Run, run_chains
from fluidkv.wait.model import Exact, several

MOST_SEED = 2**63 - 1
MOST_RUNS = 2**31 - 1
NO_HORIZON = 2**31 - 1
"""Iterations of a run that ends at a time."""

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
_TAKEN = frozenset(
    {*CHAIN_RECORDS, *_OF_RUN, *_OF_SEGMENT, *_OF_SYSTEM, "threshold"}
    | {"system", "run", "segment", "iteration", "each_queue", "each_time"}
)
"""What a dataset of chains may have; a coordinate needs another name."""


def simulate_chain(
    model: Model | Sequence[Model],
    thresholds: Iterable[int] | Iterable[Iterable[int]],
    *,
    base: Exact | Sequence[Exact] | None = None,
    per_kv_token: Exact | Sequence[Exact] | None = None,
    per_prefill_token: Exact | Sequence[Exact] | None = None,
    runs: int = 1,
    iterations: int | None = None,
    horizon: float | Sequence[float] | None = None,
    seed: int = 0,
    rate_steps: RateSteps | None = None,
    memory: float | Sequence[float] | None = None,
    record: Iterable[str] = (),
    coords: Said | None = None,
    on_progress: Progress | None = None,
) -> xr.Dataset:
    """Run a chain of counts from the empty system, many times; or many chains, each so often.

    `model`, `thresholds`, the coefficients, `horizon` and `memory` are one for all chains or one
    for each. With one of several, results have a dimension `system`.

    Args:
        model: `Segments` for Nested WAIT; outputs end where segments end, at no stage between. A
            `WaitSystem` for WAIT: each type a segment by itself, its length known.
        thresholds: n, one for each segment or type, each at least 1; or (system, segment), where
            rows may be of different lengths or end in zeros.
        base, per_kv_token: d0 and d1, with `Segments` only; a system has its own.
        per_prefill_token: d2, likewise; None: 0.
        runs: of each chain; run i depends on `seed` and i alone, so that chains share their luck.
        iterations: each run does so many, at most.
        horizon: a run goes on as long as its clock is before it, looked at before the wait; its
            last iteration may start after it, when it had to wait. (In `run_policy` none does.)
        seed: of all random numbers, below 2^63.
        rate_steps: rates that change in time, by a common factor: which share of prompts goes on
            from a segment stays. (Run single prompts for shares that change.)
        memory: a level, tokens; `exceeded` says when it was first exceeded. Nothing is evicted.
        record: names out of `CHAIN_RECORDS`, of every iteration of every run.
        coords: name -> a value for each system, or (values, units, what it is).
        on_progress: called now and then, maybe from another thread, with the iterations done and
            the runs ended.

    Returns:
        A dataset with dimensions (system,) run, (iteration,) segment, as `dataset_of` says.

    Raises:
        InputError: a number outside of what is said here, neither `iterations` nor `horizon`, a
            clock that is missing or given twice, thresholds of 2^16 or more, 1e7 arrivals or more
            in an iteration, a run in which a queue could outgrow 32 bits; numbers of systems that
            differ, or systems of both kinds.

    Source: WAIT, Algorithms 1 and 2.

    Examples:
        >>> from fluidkv.wait import Segments, simulate_chain
        >>> segments = Segments(3, ends=(1, 3), rates=(6, 2))
        >>> clock = {"base": 1, "per_kv_token": Fraction(1, 600)}
        >>> found = simulate_chain(segments, (9, 4), **clock, runs=128, horizon=30)
        >>> best = 6 * 1 + 2 * 2  # tokens per unit of time
        >>> float((found.output_tokens / found.time).mean().round(1)), best
        (8.7, 10)
    """
    rows, many = _rows(thresholds)
    options = {
        "model": model,
        "base": base,
        "per_kv_token": per_kv_token,
        "per_prefill_token": per_prefill_token,
        "horizon": horizon,
        "memory": memory,
    }
    many = many or any(map(_is_several, options.values()))
    plan = _plan(
        one_each({"thresholds": rows, **options}),
        runs,
        iterations,
        seed,
        rate_steps,
        _names(record),
    )
    if coords and not many:
        raise InputError("coords", dict(coords), "None, for one system")
    labels = said_columns(coords, "system", len(plan.horizon), _TAKEN)
    rows = dataset_of(plan, run_chains(plan, on_progress), labels if many else None)
    return rows if many else rows.isel(system=0, drop=True)


def _plan(
    columns: dict[str, list[Any]],
    runs: int,
    iterations: int | None,
    seed: int,
    rate_steps: RateSteps | None,
    record: tuple[str, ...],
) -> Plan:
    """What is run of one chain for each system; columns have a value for each."""
    horizon, memory = (
        [inf if value is None else above_0(name, value) for value in columns.pop(name)]
        for name in ("horizon", "memory")
    )
    chains = [
        count_chain(**dict(zip(columns, values, strict=True)), rate_steps=rate_steps)
        for values in zip(*columns.values(), strict=True)
    ]
    kinds = {type(model).__name__ for model in columns["model"]}
    if len(kinds) > 1:
        raise InputError("model", ", ".join(sorted(kinds)), "systems of one kind")
    if iterations is None and min(horizon) == inf:
        raise InputError("iterations", None, "a number, where there is no horizon")
    limit = NO_HORIZON if iterations is None else count("iterations", iterations, most=NO_HORIZON)
    runs, seed = count("runs", runs, most=MOST_RUNS), count("seed", seed, least=0, most=MOST_SEED)
    for chain, end in zip(chains, horizon, strict=True):
        check_growth(chain, end, limit)
    # Where nobody looks at the clock before the end, times are drawn for many iterations at once.
    looks = min(*horizon, *memory) < inf or rate_steps is not None or bool(record)
    timed = looks or not chains[0].nested
    together = beside(chains)
    return Plan(together, np.array(horizon), np.array(memory), runs, limit, seed, record, timed)


def dataset_of(plan: Plan, run: Run, coords: Mapping[str, Column] | None) -> xr.Dataset:
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

    Args:
        coords: of several systems, further ones; None: it is one system.
    """
    levels = set(plan.memory.tolist())
    level = levels.pop() if len(levels) == 1 else inf
    return dataset(
        _variables(plan, run),
        {} if coords is None else {**_of_systems(plan), **coords},
        seed=plan.seed,
        memory=None if level == inf else level,
    )


def _variables(plan: Plan, run: Run) -> dict[str, Column]:
    state, sums = run.state, run.sums

    def by_run(values: ArrayLike) -> np.ndarray:
        """(system, run, *segment), from ([segment,] lane)."""
        columns = np.asarray(values).T
        return columns.reshape(len(plan.horizon), plan.runs, *columns.shape[1:])

    def whole(values: ArrayLike) -> np.ndarray:
        return by_run(values).astype(np.int64)

    time, iterations = by_run(state.time), whole(state.iterations)
    exceeded = by_run(sums.exceeded)
    values = {
        "time": time,
        "iterations": iterations,
        "stuck": whole(sums.stuck),
        "idle_time": by_run(sums.idle),
        **_flows(plan.chains, whole(state.queue), whole(state.batches)),
        "in_system": by_run(sums.area) / time,
        "peak_held": by_run(sums.peak),
        "exceeded": np.where(np.isinf(exceeded), np.nan, exceeded),
        "queue": whole(state.queue),
        "batches": whole(state.batches),
        "mean_queue": whole(sums.queue_sum) / iterations[..., None],
        "max_queue": whole(sums.queue_max),
    }
    if np.isinf(plan.memory).all():
        del values["exceeded"]
    dims, titles = ("system", "run", "segment"), _OF_RUN | _OF_SEGMENT
    columns: dict[str, Column] = {
        name: (dims[: rows.ndim], rows, titles[name][1], titles[name][0])
        for name, rows in values.items()
    }
    for name, rows in run.records.items():
        # From (iteration, [segment,] lane); NaN after a run's end.
        ordered = np.moveaxis(rows, -1, 0).reshape(*iterations.shape, *rows.shape[:-1])
        done = np.arange(len(rows)) < iterations[..., None]
        done = done.reshape(*done.shape, *(1,) * (rows.ndim - 2))
        dims = ("system", "run", "iteration", "segment")[: ordered.ndim]
        title, unit = CHAIN_RECORDS[name]
        label = f"each_{name}" if name in columns else name
        columns[label] = dims, np.where(done, ordered, np.nan), unit, title
    return columns


def _flows(
    chain: CountChain,
    queue: Int[np.ndarray, "system run segment"],
    batches: Int[np.ndarray, "system run segment"],
) -> dict[str, Int[np.ndarray, "system run"]]:
    """Of whole runs: where everybody is says them. (Summed up on the way, they take a third more
    time.)"""
    n = np.where(chain.threshold < NEVER, chain.threshold, 0).T[:, None].astype(np.int64)
    span, prefill = chain.span.T[:, None].astype(np.int64), (chain.boundary_tokens == 0).T[:, None]
    came = (queue + n * batches)[..., : 1 if chain.nested else None].sum(axis=-1)
    inside = (queue + n * np.minimum(batches, span - 1)).sum(axis=-1)
    filling = np.minimum(batches, span)
    stages = filling * (filling + 1) // 2 + np.maximum(batches - span, 0) * span
    outputs = (n * (stages - prefill * batches)).sum(axis=-1)
    return {"arrived": came, "completed": came - inside, "output_tokens": outputs}


def _of_systems(plan: Plan) -> dict[str, Column]:
    """Coordinates of several systems: thresholds, and what differs."""
    chains, own = plan.chains, plan.chains.threshold < NEVER
    values = {
        "segments": own.sum(axis=0),
        "arrival_rate": chains.total_rate,
        "base": chains.base,
        "per_kv_token": chains.per_kv_token,
        "per_prefill_token": chains.per_prefill_token,
        "horizon": plan.horizon,
        "memory": plan.memory,
    }
    columns: dict[str, Column] = {
        name: ("system", values[name], unit, title)
        for name, (title, unit) in _OF_SYSTEM.items()
        if name in ("segments", "arrival_rate") or len(set(values[name])) > 1
    }
    levels = np.where(own, chains.threshold, 0).T.astype(np.int64)
    title = "n; 0 beyond the last segment"
    return columns | {"threshold": (("system", "segment"), levels, "request", title)}


def _names(record: Iterable[str]) -> tuple[str, ...]:
    allowed = f"names out of {', '.join(CHAIN_RECORDS)}"
    names = several("record", record, allowed)
    for name in names:
        if not isinstance(name, str) or name not in CHAIN_RECORDS:
            raise InputError("record", name, allowed)
    return tuple(dict.fromkeys(names))


def _rows(thresholds: Any) -> tuple[list[tuple[Any, ...]], bool]:
    """One row, or one for each system (then True); zeros at its end stand for no segment."""
    allowed = "one for each segment or type"
    rows = several("thresholds", thresholds, allowed)
    if not rows or not isinstance(rows[0], Iterable):
        return [rows], False
    stripped = []
    for row in rows:
        values = list(several("thresholds", row, allowed))
        while len(values) > 1 and values[-1] == 0:
            values.pop()
        stripped.append(tuple(values))
    return stripped, True


def _is_several(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
