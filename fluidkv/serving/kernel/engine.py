"""Whole requests on a CPU, run after run, each as `reference` would do it, to the bit."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Int

from fluidkv.processes import cores
from fluidkv.runs.batch import Progress, Watch, in_groups
from fluidkv.runs.records import RequestTimes, RunRecords
from fluidkv.serving.arrays import RunArrays
from fluidkv.serving.kernel.batches import (
    LONGEST,
    looks_at_most,
    new_blocks,
    new_found,
    new_passes,
    new_space,
    run_records,
    tables_of,
)
from fluidkv.serving.kernel.layout import (
    ADMITTED,
    ARRIVAL,
    CACHED_COLUMNS,
    COLUMNS,
    ENDED,
    FIRST,
    FULL,
    GAP,
    HALT,
    LAST,
    Batch,
    Blocks,
    Found,
    NamedBlocks,
    Records,
)
from fluidkv.serving.rules import (
    EngineRules,
    Gate,
    NewTokenRatio,
    Victim,
)

MOST_COST = 20_000_000
"""Of a call of the kernel: some tenths of a second, after which a run can be interrupted."""
_ROWS = 2**14
"""Windows for which memory is taken at a time."""
_GROUPS = 4
"""For each thread, so that none waits long for the last."""


def covers(rules: EngineRules, arrays: RunArrays) -> bool:
    """Whether the numbers fit in the kernel's; every rule does."""
    columns = [arrays.input_length, arrays.output_length]
    if looks_at_most(rules):
        columns.append(arrays.max_output)
    if rules.victim in (Victim.LONGEST_REMAINING, Victim.LOOSEST_OBJECTIVE):
        columns.append(arrays.predicted)
    longest = sum(int(column.max()) for column in columns)
    asked = min(int(arrays.max_output.max()), rules.ratio.clip) + rules.ratio.ahead
    reserved = asked * int(arrays.requests.max()) * NewTokenRatio.SCALE
    return (
        longest < LONGEST
        and rules.reserved_tokens < LONGEST
        and (rules.gate is not Gate.RATIO or reserved < 2**62)
    )


def finds_itself(rules: EngineRules) -> bool:
    """Whether requests that share nothing need no blocks with names, under these rules.

    What is found then depends on the order in which free blocks are taken. The calendar adds up
    what is asked for; that is the order of those who ask only where victims come from the end of
    the list, behind them.
    """
    return rules.victim is Victim.LAST_ADMITTED and not rules.asker_stays


def run_cached(
    rules: EngineRules,
    arrays: RunArrays,
    names: Callable[[int], NamedBlocks] | None,
    *,
    jumps: bool,
    iterations: int,
    every: int = 1,
    keep_requests: bool = True,
    on_progress: Progress | None = None,
) -> tuple[RunRecords, Int[np.ndarray, "run kind request"] | None]:
    """vLLM with its prefix cache, as `run_kernel`, a run at a time on each thread.

    Args:
        names: of the blocks of a run, called in that run's thread; None: no request begins like
            another, under rules that `finds_itself` knows, so that the calendar does it.

    Returns:
        Records, whose counts are those of `caching.vllm`; and tokens that requests found in the
        cache, at all admissions and at their first.
    """
    total, size = arrays.output_length.shape
    finds = names is None
    runs = run_records(rules, arrays, jumps, keep_requests, caching=True, finds=finds)
    tables = tables_of(rules, arrays)
    found = new_found(total if keep_requests else 1, size if keep_requests else 1, caching=True)
    watch = Watch(on_progress)

    def run(which: np.ndarray) -> _Rows:
        part = runs[which[0] : which[-1] + 1]
        batch = Batch(part, tables, new_space(tables), found)
        passes = blocks = None
        if names is None:
            passes = new_passes(tables)
        else:
            blocks = new_blocks(int(arrays.blocks[which[0]]), names(int(which[0])), size)
        return _through(batch, passes, blocks, CACHED_COLUMNS, iterations, every, watch)

    threads = min(cores(), total)
    group = -(-total // (threads * _GROUPS)) if finds else 1
    rows = in_groups(run, total, group, threads, watch)
    records = _records(runs, _together(rows, runs["rows"]), found, keep_requests)
    return records, found.hits if keep_requests else None


def run_kernel(
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
        rules, arrays: the runs; threads share them.
        jumps: an idle clock goes on to the next arrival at once.
        iterations: horizon of each run.
        every: iterations of a window.
        keep_requests: record each request's times.
        batch_size: runs of a group, which one thread does one after the other.
        on_progress: called with the iterations and the requests that are done in all runs.
    """
    total, size = arrays.output_length.shape
    runs = run_records(rules, arrays, jumps, keep_requests)
    tables = tables_of(rules, arrays)
    found = new_found(total, size) if keep_requests else new_found(1, 1)
    threads = min(cores(), total)
    group = batch_size or -(-total // (threads * _GROUPS))
    watch = Watch(on_progress)

    def run(which: np.ndarray) -> _Rows:
        """A group: records of runs are views, so that all groups write to the same."""
        part = runs[which[0] : which[-1] + 1]
        batch = Batch(part, tables, new_space(tables), found)
        return _through(batch, new_passes(tables), None, COLUMNS, iterations, every, watch)

    rows = in_groups(run, total, group, threads, watch)
    return _records(runs, _together(rows, runs["rows"]), found, keep_requests)


def _records(
    runs: Records, rows: tuple[np.ndarray, np.ndarray], found: Found, keep_requests: bool
) -> RunRecords:
    requests = None
    if keep_requests:
        requests = RequestTimes(
            found.times[:, ARRIVAL],
            found.times[:, ADMITTED],
            found.times[:, FIRST],
            found.times[:, LAST],
            found.times[:, GAP],
            found.evictions,
            found.outputs,
            found.finished,
            found.times[:, HALT],
        )
    columns = (runs["iteration"].copy(), runs["done"].copy(), runs["stuck"].astype(bool))
    return RunRecords(*rows, *columns, requests)


_Rows = tuple[list[np.ndarray], list[np.ndarray]]


def _through(
    batch: Batch,
    passes: Records | None,
    blocks: Blocks | None,
    columns: int,
    iterations: int,
    every: int,
    watch: Watch,
) -> _Rows:
    """All runs of a group: their windows, one after the other, in parts."""
    from fluidkv.serving.kernel.loop import advance

    at = np.zeros(4, np.int64)
    counts, time = [], []
    rows, clock = np.empty((_ROWS, columns), np.int64), np.empty(_ROWS)
    ended, told = False, (0, 0)
    while not ended and not watch.stop.is_set():
        why = advance(batch, passes, blocks, rows, clock, at, iterations, every, MOST_COST)
        now = int(batch.runs["iteration"].sum()), int(batch.runs["done"].sum())
        watch.report(now[0] - told[0], now[1] - told[1])
        told, ended = now, why == ENDED
        if why in (ENDED, FULL):  # copies: what is left of the space does not stay with them
            counts.append(rows[: at[1]].copy())
            time.append(clock[: at[1]].copy())
            at[1] = 0
    return counts, time


def _together(groups: list[_Rows], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Windows by run, those of shorter runs filled up: (run, window, count) and (run, window)."""
    counts = [part for group in groups for part in group[0]]
    time = [part for group in groups for part in group[1]]
    flat = counts[0] if len(counts) == 1 else np.concatenate(counts)
    clock = time[0] if len(time) == 1 else np.concatenate(time)
    longest = int(rows.max())
    if (rows == longest).all():
        return flat.reshape(rows.size, longest, flat.shape[1]), clock.reshape(rows.size, longest)
    place = np.arange(longest) < rows[:, None]
    padded = np.zeros((rows.size, longest, flat.shape[1]), np.int64)
    ends = np.full((rows.size, longest), np.nan)
    padded[place], ends[place] = flat, clock
    return padded, ends
