"""Whole requests in JAX: many runs at once, each as `reference` would do it, step by step.

A call of the compiled loop does some hundred iterations of some runs. Around it, in Python: runs
are cut into groups that fit the cache, groups go to threads (a compiled call lets go of the
interpreter), and a group whose running requests outgrow their slots repeats its call with more.

One compilation serves all numbers: limits, clocks, rates, seeds, and tables of about one size.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fluidkv.errors import InputError
from fluidkv.fluid.precision import in_float64
from fluidkv.serving.arrays import RunArrays, RunRecords
from fluidkv.serving.compiled.loop import COLUMNS, Piece, advance
from fluidkv.serving.compiled.plan import Plan, plan
from fluidkv.serving.compiled.start import numbers_of, requests_of, state_of, table_of, with_slots
from fluidkv.serving.compiled.state import Choices, Numbers, State, Table
from fluidkv.serving.rules import EngineRules

Progress = Callable[[int, int], None]

MOST_ITERATIONS = 4096
"""Of a call of the compiled loop: between two of them a run can be interrupted."""
LONGEST = 2**29
"""Tokens of a request must be fewer, so that int32 holds what is counted in an iteration."""


def run_engine(
    rules: EngineRules,
    arrays: RunArrays,
    *,
    jumps: bool,
    iterations: int,
    every: int = 1,
    keep_requests: bool = True,
    on_progress: Progress | None = None,
) -> RunRecords:
    """Serve until all requests of a run are done, or it is stuck, or to the horizon.

    Args:
        rules: compiled in are the victim, where it queues again, the gate, `prefill_alone` and
            `newcomers_first`.
        arrays: the runs.
        jumps: an idle engine waits for the next request; False: an iteration passes.
        iterations: horizon.
        every: length of a window.
        keep_requests: record requests too.
        on_progress: called with (iterations, requests done) of all runs together, now and then.

    Raises:
        InputError: a request of 2^29 tokens or more; memory of 2^29 blocks or more where newcomers
            come first.
    """
    _check(rules, arrays)
    batch = _Batch(rules, Choices.of(rules), arrays, jumps, iterations, every, keep_requests)
    sizes = plan(rules, arrays)
    shared = _Shared(sizes.slots, on_progress)
    groups = [
        np.arange(first, min(first + sizes.lanes, arrays.requests.size))
        for first in range(0, arrays.requests.size, sizes.lanes)
    ]
    if sizes.threads == 1 or len(groups) == 1:
        found = [_run_group(batch, sizes, group, shared) for group in groups]
    else:
        found = _in_threads(batch, sizes, groups, shared)
    return _together(found, every, keep_requests)


class _Batch(NamedTuple):
    rules: EngineRules
    choices: Choices
    arrays: RunArrays
    jumps: bool
    iterations: int
    every: int
    keep_requests: bool


class _Found(NamedTuple):
    """Records of a group of runs."""

    counts: np.ndarray
    time: np.ndarray
    iterations: np.ndarray
    done: np.ndarray
    stuck: np.ndarray
    requests: dict[str, np.ndarray]


class _Shared:
    """What the threads share: what is compiled, whether to stop, and what all of them have done."""

    def __init__(self, slots: int, tell: Progress | None) -> None:
        self.slots = slots  # that were enough so far
        self.compiled: set[int] = set()  # numbers of slots
        self.compiling, self.stop = Lock(), Event()
        self._tell, self._telling = tell, Lock()
        self._iterations = self._done = 0

    def report(self, iterations: int, done: int) -> None:
        with self._telling:
            self._iterations += iterations
            self._done += done
            if self._tell is not None:
                self._tell(self._iterations, self._done)


def _run_group(batch: _Batch, sizes: Plan, runs: np.ndarray, shared: _Shared) -> _Found:
    with in_float64():
        arrays = _lanes_of(batch.arrays, runs, sizes.lanes)
        numbers = numbers_of(batch.rules, arrays, jumps=batch.jumps)
        table = table_of(batch.choices, arrays, sizes.requests)
        state = state_of(
            batch.rules, arrays, shared.slots, sizes.requests, keep_requests=batch.keep_requests
        )
        parts: list[_Part] = []
        at = iterations = done = 0
        while at < batch.iterations and bool(state.lanes.live.any()) and not shared.stop.is_set():
            piece = _next(batch, sizes.windows, shared, numbers, table, state, at)
            parts.append(_part(piece, at, batch.every))
            state, at = piece.state, int(piece.iteration)
            so_far = int(state.lanes.iterations.sum()), int(state.lanes.done.sum())
            shared.report(so_far[0] - iterations, so_far[1] - done)
            iterations, done = so_far
        found = requests_of(arrays, state) if batch.keep_requests else {}
        lanes = jax.device_get(state.lanes)
        counts, time = _windows(parts, sizes.lanes)
        real = slice(0, runs.size)
        return _Found(
            counts[real],
            time[real],
            lanes.iterations[real].astype(np.int64),
            lanes.done[real].astype(np.int64),
            lanes.stuck[real],
            {name: values[real] for name, values in found.items()},
        )


def _next(
    batch: _Batch,
    windows: int,
    shared: _Shared,
    numbers: Numbers,
    table: Table,
    state: State,
    at: int,
) -> Piece:
    """The next iterations; with more slots, from the same state, where there are too few."""
    every = min(batch.every, 2**31 - 1)
    windows_end = (at // every + windows) * every
    end = min(batch.iterations, windows_end, at + MOST_ITERATIONS)

    def call(state: State, end: int) -> Piece:
        bounds = [jnp.asarray(np.int32(value)) for value in (at, end, every)]
        return advance(batch.choices, windows, numbers, table, state, *bounds)

    while True:
        slots = state.slots.alive.shape[1]
        with shared.compiling:  # one thread compiles, in a call of no iterations
            if slots not in shared.compiled:
                call(state, at)
                shared.compiled.add(slots)
        piece = call(state, end)
        if not bool(piece.overflow):
            return piece
        shared.slots = max(shared.slots, 2 * slots)
        state = with_slots(state, 2 * slots)


class _Part(NamedTuple):
    """Windows from `first` on. The first of them may have begun in an earlier part."""

    first: int
    counts: np.ndarray
    time: np.ndarray


def _part(piece: Piece, begin: int, every: int) -> _Part:
    first, end = begin // every, -(-int(piece.iteration) // every)
    counts, time = (np.asarray(values)[: end - first] for values in (piece.counts, piece.time))
    return _Part(first, counts, time)


def _windows(parts: list[_Part], lanes: int) -> tuple[np.ndarray, np.ndarray]:
    """Parts put together: (lane, window, count) and (lane, window)."""
    windows = max((part.first + len(part.time) for part in parts), default=0)
    counts = np.zeros((lanes, windows, COLUMNS), np.int64)
    time = np.zeros((lanes, windows))
    for first, more, clock in parts:
        counts[:, first : first + len(clock)] += more.swapaxes(0, 1)
        time[:, first : first + len(clock)] = clock.T
    return counts, time


def _in_threads(
    batch: _Batch, sizes: Plan, groups: list[np.ndarray], shared: _Shared
) -> list[_Found]:
    def run(group: np.ndarray) -> _Found:
        try:
            return _run_group(batch, sizes, group, shared)
        except BaseException:
            shared.stop.set()
            raise

    with ThreadPoolExecutor(sizes.threads) as pool:
        try:
            return list(pool.map(run, groups))
        except BaseException:  # an interrupt while waiting, or what a thread raised
            shared.stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def _together(found: list[_Found], every: int, keep: bool) -> RunRecords:
    iterations, done, stuck = (
        np.concatenate([getattr(group, name) for group in found])
        for name in ("iterations", "done", "stuck")
    )
    windows = max(group.time.shape[1] for group in found)
    counts = np.concatenate([_lengthened(group.counts, windows, 0) for group in found])
    time = np.concatenate([_lengthened(group.time, windows, np.nan) for group in found])
    ended = np.arange(windows) >= -(-iterations // every)[:, None]
    requests = {}
    if keep:
        requests = {
            name: np.concatenate([group.requests[name] for group in found])
            for name in found[0].requests
        }
    return RunRecords(
        counts,
        np.where(ended, np.nan, time),
        iterations=iterations,
        done=done,
        stuck=stuck,
        **requests,
    )


def _lengthened(values: np.ndarray, windows: int, fill: float) -> np.ndarray:
    missing = [(0, 0)] * values.ndim
    missing[1] = (0, windows - values.shape[1])
    return np.pad(values, missing, constant_values=fill)


def _lanes_of(arrays: RunArrays, runs: np.ndarray, lanes: int) -> RunArrays:
    """The rows of a group, filled up with runs of no requests."""
    rows = np.concatenate([runs, np.full(lanes - runs.size, runs[0])])
    group = RunArrays(*(column[rows] for column in arrays))
    requests = np.where(np.arange(lanes) < runs.size, group.requests, 0)
    return group._replace(requests=requests)


def _check(rules: EngineRules, arrays: RunArrays) -> None:
    if rules.newcomers_first and arrays.blocks.max() >= LONGEST:
        blocks = int(arrays.blocks.max())
        raise InputError("capacity", f"{blocks} blocks", f"fewer than {LONGEST} of {rules.label}")
    longest = max(
        int(arrays.input_length.max()) + int(column.max())
        for column in (arrays.output_length, arrays.max_output)
    )
    if longest >= LONGEST:
        raise InputError("requests", f"{longest} tokens", f"requests of fewer than {LONGEST}")
