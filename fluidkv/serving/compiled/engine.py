"""Whole requests in JAX: many runs at once, each as `reference` would do it, step by step.

A call of the compiled loop does some hundred iterations of some runs (`fluidkv.runs.batch`); runs
are cut into groups that fit the cache, and a group whose running requests outgrow their slots
repeats its call with more.

One compilation serves all numbers: limits, clocks, rates, seeds, and tables of about one size.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fluidkv.errors import InputError
from fluidkv.runs.batch import Progress, Reached, Watch, go_on, in_groups, joined
from fluidkv.runs.precision import in_float64
from fluidkv.runs.records import RequestTimes, RunRecords
from fluidkv.serving.arrays import RunArrays
from fluidkv.serving.compiled.loop import COLUMNS, Piece, advance
from fluidkv.serving.compiled.plan import Plan, plan
from fluidkv.serving.compiled.start import numbers_of, requests_of, state_of, table_of, with_slots
from fluidkv.serving.compiled.state import Choices, Numbers, State, Table
from fluidkv.serving.rules import EngineRules

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
    batch_size: int | None = None,
    on_progress: Progress | None = None,
) -> RunRecords:
    """Serve until all requests of a run are done, or it is stuck, or to the horizon.

    Args:
        rules: compiled in are the victim, where it queues again, the gate, `prefill_alone`,
            `newcomers_first`, `in_turn`, `asker_stays`, and whether anybody is swapped or given an
            estimate. `Requeue.BY_PRIORITY` costs a pass over all requests an
            iteration; nothing else does.
        arrays: the runs.
        jumps: an idle engine waits for the next request; False: an iteration passes.
        iterations: horizon.
        every: length of a window.
        keep_requests: record requests too.
        batch_size: most runs of a group; None: as many as `plan` finds best.
        on_progress: told iterations and requests done.

    Raises:
        InputError: a request of 2^29 tokens or more; memory of 2^29 blocks or more where newcomers
            come first.
    """
    _check(rules, arrays)
    sizes, watch = plan(rules, arrays, batch_size), Watch(on_progress)
    batch = _Batch(rules, arrays, sizes, jumps, iterations, every, keep_requests, watch)
    found = in_groups(batch.run, arrays.requests.size, sizes.runs, sizes.threads, watch)
    return _together(found, every)


class _Batch:
    """Runs of one engine, group by group."""

    def __init__(
        self,
        rules: EngineRules,
        arrays: RunArrays,
        sizes: Plan,
        jumps: bool,
        iterations: int,
        every: int,
        keep_requests: bool,
        watch: Watch,
    ) -> None:
        self.rules, self.choices, self.arrays = rules, Choices.of(rules), arrays
        self.sizes, self.jumps, self.iterations = sizes, jumps, iterations
        self.every, self.keep_requests, self.watch = every, keep_requests, watch
        self.slots = sizes.slots  # that were enough so far, in any group

    def run(self, group: np.ndarray) -> RunRecords:
        with in_float64():
            arrays = _filled_up(self.arrays, group, self.sizes.runs)
            numbers = numbers_of(self.rules, arrays, jumps=self.jumps)
            table = table_of(self.rules, arrays, self.sizes.requests)
            size, keep = self.sizes.requests, self.keep_requests
            state = state_of(self.rules, arrays, self.slots, size, keep_requests=keep)
            parts: list[_Part] = []

            def on(at: int) -> Reached:
                nonlocal state
                piece = self._next(numbers, table, state, at)
                parts.append(_part(piece, at, self.every))
                state, runs = piece.state, piece.state.runs
                done = int(runs.iterations.sum()), int(runs.done.sum())
                return Reached(int(piece.iteration), *done, bool(runs.live.any()))

            if bool(state.runs.live.any()):
                go_on(on, self.iterations, self.watch)
            requests = requests_of(arrays, state) if keep else None
            runs = jax.device_get(state.runs)
            found = RunRecords(
                *_windows(parts, self.sizes.runs),
                runs.iterations.astype(np.int64),
                runs.done.astype(np.int64),
                runs.stuck,
                requests,
            )
            return jax.tree.map(lambda values: values[: group.size], found)

    def _next(self, numbers: Numbers, table: Table, state: State, at: int) -> Piece:
        """The next iterations; with more slots, from the same state, where there are too few."""
        every, windows = min(self.every, 2**31 - 1), self.sizes.windows
        windows_end = (at // every + windows) * every
        end = min(self.iterations, windows_end, at + MOST_ITERATIONS)

        def call(end: int) -> Piece:
            bounds = [jnp.asarray(np.int32(value)) for value in (at, end, every)]
            return advance(self.choices, windows, numbers, table, state, *bounds)

        while True:
            slots = state.slots.alive.shape[1]
            self.watch.compile(slots, lambda: call(at))
            piece = call(end)
            if not bool(piece.overflow):
                return piece
            self.slots = max(self.slots, 2 * slots)
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


def _windows(parts: list[_Part], runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Parts put together: (run, window, count) and (run, window)."""
    windows = max((part.first + len(part.time) for part in parts), default=0)
    counts = np.zeros((runs, windows, COLUMNS), np.int64)
    time = np.zeros((runs, windows))
    for first, more, clock in parts:
        counts[:, first : first + len(clock)] += more.swapaxes(0, 1)
        time[:, first : first + len(clock)] = clock.T
    return counts, time


def _together(found: list[RunRecords], every: int) -> RunRecords:
    counts = joined([group.counts for group in found], axis=1)
    time = joined([group.time for group in found], axis=1, fill=np.nan)
    iterations, done, stuck = (
        np.concatenate([getattr(group, name) for group in found])
        for name in ("iterations", "done", "stuck")
    )
    ended = np.arange(time.shape[1]) >= -(-iterations // every)[:, None]
    kept = [group.requests for group in found if group.requests is not None]
    requests = RequestTimes(*map(np.concatenate, zip(*kept, strict=True))) if kept else None
    return RunRecords(counts, np.where(ended, np.nan, time), iterations, done, stuck, requests)


def _filled_up(arrays: RunArrays, group: np.ndarray, size: int) -> RunArrays:
    """The rows of a group, filled up with runs of no requests."""
    rows = np.concatenate([group, np.full(size - group.size, group[0])])
    found = RunArrays(*(column[rows] for column in arrays))
    requests = np.where(np.arange(size) < group.size, found.requests, 0)
    return found._replace(requests=requests)


def _check(rules: EngineRules, arrays: RunArrays) -> None:
    if rules.newcomers_first and arrays.blocks.max() >= LONGEST:
        blocks = int(arrays.blocks.max())
        raise InputError("capacity", f"{blocks} blocks", f"fewer than {LONGEST} of {rules.label}")
    longest = max(
        int(arrays.input_length.max()) + int(column.max())
        for column in (arrays.output_length, arrays.max_output, arrays.predicted)
    )
    if longest >= LONGEST:
        raise InputError("requests", f"{longest} tokens", f"requests of fewer than {LONGEST}")
