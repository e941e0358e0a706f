"""WAIT and Nested WAIT by counts alone, for thousands of runs: random numbers are drawn inside.

Equal in law to the policy run prompt by prompt (`fluidkv.wait.runs.reference`) where memory
suffices: every prompt of a segment's stage is like every other, so that it is enough to know how
many wait before each segment and how many batches each has had. See `step` for an iteration.

Latency of single prompts is not tracked; by Little's law its mean is the mean number in the system
over the rate of arrivals.

Source: WAIT, Algorithms 1 and 2.
"""

from collections.abc import Iterable

import numpy as np
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.labels import dataset, with_columns
from fluidkv.runs.batch import Progress
from fluidkv.runs.checks import above_0, count
from fluidkv.runs.dataset import labelled
from fluidkv.runs.precision import in_float64
from fluidkv.runs.rates import RateSteps
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.chain.checks import (
    MOST_RUNS,
    MOST_SEED,
    check_growth,
    thresholds_of,
)
from fluidkv.wait.chain.engine import Plan, run_chain
from fluidkv.wait.chain.numbers import numbers_of, shapes
from fluidkv.wait.chain.state import Chain
from fluidkv.wait.model import Exact, WaitSystem, exact, several
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
"""What `simulate_chain` can record of each iteration -> (what it is, unit)."""

NO_HORIZON = 2**31 - 1
"""Iterations of a run that ends at a time."""


def simulate_chain(
    model: Segments | WaitSystem,
    thresholds: Iterable[int],
    *,
    base: Exact | None = None,
    per_kv_token: Exact | None = None,
    per_prefill_token: Exact | None = None,
    runs: int = 1,
    iterations: int | None = None,
    horizon: float | None = None,
    seed: int = 0,
    rate_steps: RateSteps | None = None,
    memory: float | None = None,
    record: Iterable[str] = (),
    on_progress: Progress | None = None,
) -> xr.Dataset:
    """Run a chain of counts from the empty system, many times.

    Args:
        model: `Segments` for Nested WAIT; outputs end where segments end, at no stage between. A
            `WaitSystem` for WAIT: each type a segment by itself, its length known.
        thresholds: n, one for each segment or type, each at least 1.
        base, per_kv_token: d0 and d1, with `Segments` only; a system has its own.
        per_prefill_token: d2, likewise; None: 0.
        runs: how many; run i depends on `seed` and i alone.
        iterations: each run does so many, at most.
        horizon: a run goes on as long as its clock is before it, looked at before the wait: it ends
            at the first end of an iteration at or after the horizon, and its last iteration may
            start after it, when it had to wait. (In `run_policy` no iteration starts then.)
        seed: of all random numbers, below 2^63.
        rate_steps: rates that change in time, by a common factor: which share of prompts goes on
            from a segment stays. Shares that change are beyond counts, since who waits came at
            different times; run single prompts for that.
        memory: a level, tokens; `exceeded` says when it was first exceeded. Nothing is evicted.
        record: names out of `CHAIN_RECORDS`, of every iteration of every run.
        on_progress: called now and then, maybe from another thread, with the iterations done and
            the runs ended.

    Returns:
        A dataset with dimensions run, segment (and iteration, for records; NaN after a run's end).
        Of the records, `queue` and `time` are called `each_queue` and `each_time`, since these
        names are taken; `wait`, `waited`, `joined` and the others have their own.
        Of a run: time (clock), iterations, stuck (iterations that waited first), idle_time,
        arrived, completed (prompts), output_tokens (emitted; the prefill emits none), in_system
        (prompts, mean over time; expected given all counts and the clock), peak_held (tokens, most
        in an iteration, the last one included), exceeded (start of the first iteration above
        `memory`; NaN: none).
        Of a segment, or type, in order: queue (prompts that wait at the end), batches, mean_queue
        and max_queue (at the start of iterations, before waiting).

    Raises:
        InputError: a number outside of what is said here, neither `iterations` nor `horizon`, a
            clock that is missing or given twice, thresholds of 2^16 or more, 1e7 arrivals or more
            in an iteration, or a run in which a queue could outgrow 32 bits.

    Source: WAIT, Algorithms 1 and 2.
    """
    clock = _clock(model, base, per_kv_token, per_prefill_token)
    levels = thresholds_of(model, thresholds)
    plan = _plan(seed, runs, iterations, horizon, memory, record)
    if rate_steps is not None and not isinstance(rate_steps, RateSteps):
        raise InputError("rate_steps", rate_steps, "RateSteps or None")
    check_growth(model, levels, clock, rate_steps, plan.iterations, plan.horizon)
    timed = horizon is not None or memory is not None or bool(plan.record) or rate_steps is not None
    with in_float64():
        form, numbers = numbers_of(model, levels, clock, rate_steps, timed=timed)
        found = run_chain(form, numbers, plan, on_progress)
    return _dataset(model, levels, found.chain, found.records, memory, plan.seed)


def _clock(
    model: Segments | WaitSystem,
    base: Exact | None,
    per_kv_token: Exact | None,
    per_prefill_token: Exact | None,
) -> IterationClock:
    needed = (("base", base), ("per_kv_token", per_kv_token))
    if isinstance(model, WaitSystem):
        for name, value in (*needed, ("per_prefill_token", per_prefill_token)):
            if value is not None:
                raise InputError(name, value, "None: the system has its own")
        return model.clock
    if not isinstance(model, Segments):
        raise InputError("model", model, "Segments or a WaitSystem")
    for name, value in needed:
        if value is None:
            raise InputError(name, value, "a number, with Segments")
    d2 = 0 if per_prefill_token is None else per_prefill_token
    return IterationClock(
        float(exact("base", base, above=0)),
        float(exact("per_kv_token", per_kv_token, least=0)),
        float(exact("per_prefill_token", d2, least=0)),
    )


def _plan(
    seed: int,
    runs: int,
    iterations: int | None,
    horizon: float | None,
    memory: float | None,
    record: Iterable[str],
) -> Plan:
    if iterations is None and horizon is None:
        raise InputError("iterations", None, "a number, where there is no horizon")
    allowed = f"names out of {', '.join(CHAIN_RECORDS)}"
    names = several("record", record, allowed)
    for name in names:
        if not isinstance(name, str) or name not in CHAIN_RECORDS:
            raise InputError("record", name, allowed)
    return Plan(
        seed=count("seed", seed, least=0, most=MOST_SEED),
        runs=count("runs", runs, most=MOST_RUNS),
        iterations=(
            NO_HORIZON if iterations is None else count("iterations", iterations, most=NO_HORIZON)
        ),
        horizon=np.inf if horizon is None else above_0("horizon", horizon),
        level=np.inf if memory is None else above_0("memory", memory),
        record=tuple(dict.fromkeys(names)),
    )


def _dataset(
    model: Segments | WaitSystem,
    thresholds: tuple[int, ...],
    chain: Chain,
    records: dict[str, np.ndarray],
    memory: float | None,
    seed: int,
) -> xr.Dataset:
    queue, batches = (np.asarray(v).T.astype(np.int64) for v in (chain.queue, chain.batches))
    arrived, completed, tokens = _flows(model, thresholds, queue, batches)
    time, iterations = np.asarray(chain.time), np.asarray(chain.iterations).astype(np.int64)
    exceeded = np.asarray(chain.exceeded)
    stuck = np.asarray(chain.stuck).astype(np.int64)
    present = np.asarray(chain.area) / time
    of_run = {
        "time": (time, "clock at the end of the last iteration", "time"),
        "iterations": (iterations, "iterations", "iteration"),
        "stuck": (stuck, "iterations that waited first", "iteration"),
        "idle_time": (np.asarray(chain.idle), "time waited", "time"),
        "arrived": (arrived, "prompts that came", "request"),
        "completed": (completed, "prompts that computed their last stage", "request"),
        "output_tokens": (tokens, "output tokens emitted", "token"),
        "in_system": (present, "prompts in the system, mean over time", "request"),
        "peak_held": (np.asarray(chain.peak), "most tokens in memory in an iteration", "token"),
    }
    if memory is not None:
        of_run["exceeded"] = (
            np.where(np.isinf(exceeded), np.nan, exceeded),
            "start of the first iteration above the level",
            "time",
        )
    of_segment = {
        "queue": (queue, "prompts that wait at the end", "request"),
        "batches": (batches, "batches", "1"),
        "mean_queue": (
            np.asarray(chain.queue_sum).T / iterations[:, None],
            "prompts before the segment, mean over iterations",
            "request",
        ),
        "max_queue": (
            np.asarray(chain.queue_max).T.astype(np.int64),
            "most prompts before the segment at the start of an iteration",
            "request",
        ),
    }
    found = dataset(
        labelled("run", of_run) | labelled(("run", "segment"), of_segment),
        seed=seed,
        memory=memory,
    )
    for name, values in records.items():
        dims = ("run", "iteration", "segment") if values.ndim == 3 else ("run", "iteration")
        ordered = np.moveaxis(values, -1, 0)
        done = np.arange(len(values)) < iterations[:, None]
        done = done[..., None] if values.ndim == 3 else done
        clash = f"each_{name}" if name in found else name
        shown = np.where(done, ordered, np.nan), *CHAIN_RECORDS[name]
        found = with_columns(found, labelled(dims, {clash: shown}))
    return found


def _flows(
    model: Segments | WaitSystem,
    thresholds: tuple[int, ...],
    queue: np.ndarray,
    batches: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrivals, completions and output tokens of each run: where everybody is says them."""
    segments = shapes(model, thresholds)
    n, span = (
        np.array([getattr(segment, name) for segment in segments]) for name in ("threshold", "span")
    )
    entered = queue + n * batches  # who ever waited before the segment
    passed = n * np.maximum(batches - span + 1, 0)
    filling = np.minimum(batches, span)
    computed = n * (filling * (filling + 1) // 2 + np.maximum(batches - span, 0) * span)
    if isinstance(model, WaitSystem):
        prefills = n * batches
        return entered.sum(axis=1), passed.sum(axis=1), (computed - prefills).sum(axis=1)
    arrived, prefills = entered[:, 0], n[0] * batches[:, 0]
    completed = passed.sum(axis=1) - entered[:, 1:].sum(axis=1)
    return arrived, completed, computed.sum(axis=1) - prefills
