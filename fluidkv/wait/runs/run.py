"""Run WAIT or Nested WAIT: one call for one run or for thousands."""

import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.runs.batch import Progress, Watch
from fluidkv.runs.checks import above_0, count
from fluidkv.runs.dataset import as_dataset
from fluidkv.runs.records import Outcome, in_windows, together
from fluidkv.runs.requests import Requests
from fluidkv.runs.values import one_each
from fluidkv.serving.checks import check_backend
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.policy import NestedWait, Policy, Wait
from fluidkv.wait.runs.engine import schedule_of
from fluidkv.wait.runs.history import counts_of, times_of
from fluidkv.wait.runs.literal import NO_LIMIT, run_literally
from fluidkv.wait.runs.reference import COUNTS, MOST_TOKENS, check_run
from fluidkv.wait.runs.turns import segments_of, tokens_of


def run_policy(
    requests: Requests | Sequence[Requests],
    policy: Policy | Sequence[Policy],
    *,
    clock: IterationClock | Sequence[IterationClock],
    capacity: int | Sequence[int | None] | None = None,
    horizon: float | Sequence[float | None] | None = None,
    iterations: int | None = None,
    every: int = 1,
    keep_requests: bool = True,
    backend: Literal["auto", "kernel", "reference"] = "auto",
    on_progress: Progress | None = None,
) -> xr.Dataset:
    """Run a policy until nothing more can run, or to a horizon.

    `requests`, `policy`, `clock`, `capacity` and `horizon` are one for all runs or one for each.

    Args:
        requests: who comes when; `output_length` is the paper's l', `class_index` the type. The
            same prompts in `serve` have one output more: its prefill emits a token.
        policy: Wait or NestedWait.
        clock: d0, d1 and d2 of the iteration time; `WaitSystem.clock`.
        capacity: M, tokens. None: memory is counted, not limited. Runs that never hold more than
            this are exact in the fast engine; those that would are run again by the literal one,
            which evicts (see `reference.WaitEngine`) and is some hundred times as slow.
        horizon: no iteration starts at or after this time; above 0. None: none.
        iterations: at most so many. None: as many as there can be.
        every: length of a window; one record a window. At most 2^62.
        keep_requests: record each prompt's times too.
        backend: "reference" is the literal engine, "kernel" the fast one; they agree bit by bit,
            times included. "auto" takes the literal one where it must.
        on_progress: called now and then with the iterations and the prompts done in all runs.

    Returns:
        A dataset like that of `serve`, for `fluidkv.runs.measuring.metrics` to measure, with
        dimensions run, window and request.
        (run, window): the counts of `fluidkv.wait.runs.reference.COUNTS`, of which `held_tokens` is
        called `used_blocks` (blocks are of one token); levels (`LEVELS`) are means over a window,
        flows sums. `preempt` counts evictions before an iteration and, in the last one, those after
        it, so that its sum is that of the prompts' `evictions`; nobody is evicted at or after the
        horizon. `peak_tokens`: the most that was held in an iteration. `time`: the clock at the
        window's end. `completed_outputs`: output tokens of prompts that completed, which is what
        the paper's throughput counts; `new_outputs` counts each when it comes.
        (run, request): input_length, output_length, class_index, arrival, admitted, first_token
        (end of stage 1), last_token, longest_gap (0: no second token so far), evictions, outputs,
        finished.
        (run): status, iterations, served, requests, blocks (the capacity; NaN: not limited),
        block_size. A status is HORIZON, or STUCK: what is left waits for prompts that do not come,
        or evicts each other for ever. Nothing is ever DONE: every batch takes newcomers in, and
        leaves them behind.

    Raises:
        InputError: before anything runs: what cannot run (`reference.check_run`), numbers of runs
            that differ, a horizon or window out of range. After: with backend "kernel", a run that
            would have to evict.

    Source: WAIT, Algorithms 1 and 2; sections 2 and 4.3 for what is measured.

    Examples:
        >>> from fluidkv.runs import Requests
        >>> from fluidkv.serving import IterationClock
        >>> from fluidkv.wait import Wait, run_policy
        >>> table = Requests([3, 3, 3, 3], [1, 1, 1, 1], arrival=[0, 1, 2, 3])
        >>> run = run_policy(table, Wait([2]), clock=IterationClock(1))
        >>> run.admitted.values.tolist()  # each waits for a second
        [[1.0, 1.0, 3.0, 3.0]]
        >>> run.last_token.values.tolist()  # a batch needs newcomers: none follow the last two
        [[4.0, 4.0, nan, nan]]
    """
    columns = one_each(
        {
            "requests": requests,
            "policy": policy,
            "clock": clock,
            "capacity": capacity,
            "horizon": horizon,
        }
    )
    every, limit = _windows(every, iterations)
    runs = [_checked(_Run(*row)) for row in zip(*columns.values(), strict=True)]
    _check(runs, backend)
    literal = backend == "reference"
    way = _Way(limit, keep_requests, backend, Watch(on_progress))
    return _dataset(runs, _literal(runs, way) if literal else _fast(runs, way), every)


class _Run(NamedTuple):
    requests: Requests
    policy: Policy
    clock: IterationClock
    capacity: int | None
    horizon: float | None

    @property
    def until(self) -> float:
        return math.inf if self.horizon is None else self.horizon


class _Way(NamedTuple):
    """How all runs are run."""

    iterations: int
    keep_requests: bool
    backend: str
    watch: Watch


def _dataset(runs: list[_Run], outcomes: Iterator[Outcome], every: int) -> xr.Dataset:
    tokens = COUNTS.index("held_tokens")
    return as_dataset(
        together(in_windows(outcome, every, peak=tokens) for outcome in outcomes),
        ["used_blocks" if name == "held_tokens" else name for name in COUNTS],
        [run.requests for run in runs],
        blocks=[np.nan if run.capacity is None else run.capacity for run in runs],
        block_size=[1] * len(runs),
        every=every,
        label=", ".join(dict.fromkeys(run.policy.label for run in runs)),
        unit=runs[0].clock.unit,
    )


def _literal(runs: list[_Run], way: _Way) -> Iterator[Outcome]:
    for run in runs:
        outcome = run_literally(
            *run[:4], horizon=run.until, iterations=way.iterations, watch=way.watch
        )
        yield outcome if way.keep_requests else outcome._replace(requests=None)


def _fast(runs: list[_Run], way: _Way) -> Iterator[Outcome]:
    """Run after run through the fast engine; what would have to evict, literally."""
    for run in runs:
        if way.backend == "auto" and tokens_of(run.requests) >= MOST_TOKENS:
            yield from _literal([run], way)
            continue
        segments = segments_of(run.requests, run.policy)
        schedule, stuck = schedule_of(
            segments, run.clock, horizon=run.until, iterations=way.iterations, watch=way.watch
        )
        counts = counts_of(run.requests, segments, schedule)
        peak = int(counts[:, COUNTS.index("held_tokens")].max(initial=0))
        if run.capacity is not None and peak > run.capacity:
            if way.backend == "kernel":
                allowed = f"at least {peak} tokens, which a run holds; 'auto' evicts"
                raise InputError("capacity", run.capacity, allowed)
            yield from _literal([run], way)
            continue
        keep = way.keep_requests
        prompts = times_of(run.requests, segments, schedule) if keep else None
        done = int(counts[:, COUNTS.index("completed")].sum())
        way.watch.report(0, done)
        yield Outcome(counts, schedule.end, done, stuck, prompts)


def _windows(every: int, iterations: int | None) -> tuple[int, int]:
    """The length of a window, and the most iterations."""
    size = count("every", every)
    if size > NO_LIMIT:
        raise InputError("every", every, "at most 2^62 iterations")
    return size, NO_LIMIT if iterations is None else min(count("iterations", iterations), NO_LIMIT)


def _checked(run: _Run) -> _Run:
    """The run with plain numbers."""
    for name, value, kind, called in (
        ("requests", run.requests, Requests, "Requests"),
        ("policy", run.policy, Wait | NestedWait, "Wait or NestedWait"),
        ("clock", run.clock, IterationClock, "an IterationClock"),
    ):
        if not isinstance(value, kind):
            raise InputError(name, value, called)
    check_run(run.requests, run.policy, run.clock, run.capacity)
    horizon, capacity = run.horizon, run.capacity
    return run._replace(
        horizon=None if horizon is None else above_0("horizon", horizon, infinite=True),
        capacity=None if capacity is None else int(capacity),
    )


def _check(runs: list[_Run], backend: str) -> None:
    check_backend(backend)
    if len({run.clock.unit for run in runs}) > 1:
        raise InputError("clock", "several units", "one unit for all runs")
