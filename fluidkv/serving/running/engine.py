"""Whole requests, run after run: one loop, compiled, or as the plain Python that it is written in.

The literal engine is the loop called as it stands, over records that are Python's objects, without
the calendar: every request is looked at in every iteration, and no number has a bound. Compiled it
gives the same bits.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from fluidkv.processes import cores
from fluidkv.runs.batch import Progress, Watch, in_groups
from fluidkv.runs.inlined import as_objects, write_back
from fluidkv.runs.records import RequestTimes, RunRecords
from fluidkv.serving.arrays import Runs
from fluidkv.serving.kernel import loop
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
from fluidkv.serving.rules import EngineRules, NewTokenRatio, Victim
from fluidkv.serving.running.batches import (
    LONGEST,
    arrivals_of,
    looks_at_most,
    new_blocks,
    new_found,
    new_passes,
    new_space,
    new_times,
    run_records,
    tables_of,
)
from fluidkv.serving.running.own import compiles, give_own

MOST_COST = 20_000_000
"""Of a call of the kernel: some tenths of a second, after which a run can be interrupted."""
_LITERAL_COST = 200_000
"""Of a call of the literal loop, likewise."""
_ROWS = 2**14
"""Windows for which memory is taken at a time."""
_GROUPS = 4
"""For each thread, so that none waits long for the last."""


@cache
def compiled_loop() -> Callable[..., int]:
    """`loop.advance` as machine code: the compiler takes half a second to load."""
    from fluidkv.runs.kernels import compiled

    return compiled(loop.advance)


def is_loaded() -> bool:
    """Whether the compiler is there already."""
    return compiled_loop.cache_info().currsize > 0


def covers(rules: EngineRules, batch: Runs) -> bool:
    """Whether the numbers fit in the kernel's, and rules of a user's own can be compiled."""
    names = ["input_length", "output_length"]
    if looks_at_most(rules):
        names.append("max_output")
    if rules.victim.looks_at("predicted"):
        names.append("predicted_output")
    longest = sum(map(batch.most, names))
    asked = min(batch.most("max_output"), rules.ratio.clip) + rules.ratio.ahead
    reserved = asked * batch.longest * NewTokenRatio.SCALE
    return (
        compiles(rules)
        and longest < LONGEST
        and rules.reserved_tokens < LONGEST
        and (not rules.gate.looks_at("reserved") or reserved < 2**62)
    )


def finds_itself(rules: EngineRules) -> bool:
    """Whether requests that share nothing need no blocks with names, under these rules.

    What is found then depends on the order in which free blocks are taken. The calendar adds up
    what is asked for; that is the order of those who ask only where victims come from the end of
    the list, behind them.
    """
    return rules.victim is Victim.LAST_ADMITTED and not rules.asker_stays


def run_batch(
    rules: EngineRules,
    batch: Runs,
    names: Callable[[int], NamedBlocks] | None = None,
    *,
    caching: bool = False,
    literally: bool = False,
    jumps: bool,
    iterations: int,
    every: int = 1,
    keep_requests: bool = True,
    batch_size: int | None = None,
    on_progress: Progress | None = None,
) -> RunRecords:
    """Serve until all requests of a run are done, or it is stuck, or to the horizon.

    Args:
        rules, batch: the runs; threads share them.
        names: of the blocks of a run with a prefix cache, called in that run's thread; None: no
            cache, or no request begins like another, under rules that `finds_itself` knows, so that
            the calendar does it.
        caching: with vLLM's prefix cache; counts are then `WITH_CACHE`.
        literally: by the loop as plain Python, with names where it has a cache.
        jumps: an idle clock goes on to the next arrival at once.
        iterations: horizon of each run.
        every: iterations of a window.
        keep_requests: record each request's times.
        batch_size: runs of a group, which one thread does one after the other.
        on_progress: called with the iterations and the requests that are done in all runs.
    """
    total, size = len(batch.tables), batch.longest
    finds = caching and names is None
    runs = run_records(rules, batch, jumps, keep_requests, caching=caching, finds=finds)
    give_own(rules, runs, literally=False)
    tables, arrival = tables_of(rules, batch), arrivals_of(batch)
    if literally:
        tables = as_objects(tables)
    kept = (total, size) if keep_requests else (1, 1)
    times, found = new_times(*kept), new_found(*kept, caching=caching)
    threads = 1 if literally else min(cores(), total)
    at_once = 1 if names is not None else batch_size or -(-total // (threads * _GROUPS))
    columns = CACHED_COLUMNS if caching else COLUMNS
    watch = Watch(on_progress)

    def run(which: np.ndarray) -> _Rows:
        """A group: records of runs are views, so that all groups write to the same."""
        part = runs[which[0] : which[-1] + 1]
        group = Batch(part, new_space(times, arrival), tables, found)
        blocks = None
        if names is not None:
            blocks = new_blocks(batch.limits[which[0]].blocks, names(int(which[0])), size)
        if literally:
            return _literally(group, rules, blocks, columns, iterations, every, watch)
        passes = None if blocks is not None else new_passes(tables)
        call, most = compiled_loop(), MOST_COST
        return _through(call, most, group, passes, blocks, columns, iterations, every, watch)

    rows = in_groups(run, total, at_once, threads, watch)
    return _records(runs, _together(rows, runs["rows"]), times, found, keep_requests)


def _records(
    runs: Records,
    rows: tuple[np.ndarray, np.ndarray],
    times: np.ndarray,
    found: Found,
    keep_requests: bool,
) -> RunRecords:
    requests = hits = None
    if keep_requests:
        requests = RequestTimes(
            times[:, ARRIVAL],
            times[:, ADMITTED],
            times[:, FIRST],
            times[:, LAST],
            times[:, GAP],
            found.evictions,
            found.outputs,
            found.finished,
            times[:, HALT],
        )
        hits = found.hits if runs["caching"].any() else None
    columns = (runs["iteration"].copy(), runs["done"].copy(), runs["stuck"].astype(bool))
    return RunRecords(*rows, *columns, requests, hits=hits)


_Rows = tuple[list[np.ndarray], list[np.ndarray]]


def _literally(
    batch: Batch,
    rules: EngineRules,
    blocks: Blocks | None,
    columns: int,
    iterations: int,
    every: int,
    watch: Watch,
) -> _Rows:
    """All runs of a group by the loop as it is written; what it found is written back."""
    first, last = batch.runs["row"][[0, -1]]
    there = Found(*(array[first : last + 1] for array in batch.found))
    times = batch.space.times[first : last + 1]
    objects = as_objects(batch._replace(space=batch.space._replace(times=times), found=there))
    for run in objects.runs:
        run.row -= int(first)
    give_own(rules, objects.runs, literally=True)
    passes = None if blocks is not None else as_objects(new_passes(None))
    given = (objects, passes, as_objects(blocks))
    with np.errstate(all="ignore"):  # in kernels nothing is warned of
        rows = _through(loop.advance, _LITERAL_COST, *given, columns, iterations, every, watch)
    give_own(rules, objects.runs, literally=False)
    write_back(objects.runs, batch.runs)
    written = (objects.space.times, *objects.found), (times, *there)
    for values, array in zip(*written, strict=True):
        write_back(values, array)
    return rows


def _through(
    call: Callable[..., int],
    most: int,
    batch: Batch,
    passes: Records | None,
    blocks: Blocks | None,
    columns: int,
    iterations: int,
    every: int,
    watch: Watch,
) -> _Rows:
    """All runs of a group: their windows, one after the other, in calls of at most `most` cost."""
    at = np.zeros(4, np.int64)
    counts, time = [], []
    rows, clock = np.empty((_ROWS, columns), np.int64), np.empty(_ROWS)
    ended, told = False, (0, 0)
    while not ended and not watch.stop.is_set():
        why = call(batch, passes, blocks, rows, clock, at, iterations, every, most)
        now = sum(run["iteration"] for run in batch.runs), sum(run["done"] for run in batch.runs)
        watch.report(int(now[0]) - told[0], int(now[1]) - told[1])
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
