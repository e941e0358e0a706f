"""Runs one after the other: arrive, evict, admit, execute, until all is done or nothing fits."""

import numpy as np

from fluidkv.runs.kernels import inner, kernel
from fluidkv.serving.kernel.admit import admit, arrive, enter, is_stuck, prefill
from fluidkv.serving.kernel.caching import iterate_cached
from fluidkv.serving.kernel.evict import end_grants, evict
from fluidkv.serving.kernel.execute import copy, execute, land
from fluidkv.serving.kernel.finding import count_cache
from fluidkv.serving.kernel.layout import (
    ADMITTED,
    ARRIVAL,
    ENDED,
    FIRST,
    FULL,
    GAP,
    HALT,
    LAST,
    LOCKED,
    NONE,
    RECOMPUTE,
    TIRED,
    Batch,
    Blocks,
    Found,
    Record,
    Records,
    Tables,
)
from fluidkv.serving.kernel.locked import lock, write_down
from fluidkv.serving.kernel.memory import blocks_of, given_blocks
from fluidkv.serving.kernel.pool import clear
from fluidkv.serving.limits import UNLIMITED


@kernel
def advance(
    batch: Batch,
    passes: Records | None,
    blocks: Blocks | None,
    counts: np.ndarray,
    time: np.ndarray,
    at: np.ndarray,
    horizon: int,
    every: int,
    most: int,
) -> int:
    """Go on with run `at[0]`, in row `at[1]`, until all runs are done, the rows, or `most` work.

    Args:
        batch: the runs.
        passes: the calendar; None: nobody is locked, so there is none.
        blocks: the memory of one run with a prefix cache, which has no calendar; None: no cache.
        counts, time: rows, a window each: (row, count) and (row,).
        at: run that is next; rows that are whole; 1 while a run is under way; 1 in a window.
        horizon: iterations of a run.
        every: of a window.
        most: cost after which the call returns.

    Returns:
        `ENDED`, `FULL` or `TIRED`.
    """
    requests, aside, lists = batch.space
    cost = 0
    while at[0] < batch.runs.size:
        run = batch.runs[at[0]]
        times = batch.found.times[run.row]
        arrival = batch.tables.arrival[run.table]
        if at[2] == 0:
            begin(run, requests, aside, times, batch.tables)
            # The compiler leaves out what an argument that is None does not need.
            if passes is not None:
                start(run, requests, aside, lists, passes, times, batch.tables)
            if blocks is not None:
                clear(run, blocks)
            cost += 8 * run.requests
            at[2] = 1
        while run.iteration < horizon and run.done < run.requests and run.stuck == 0:
            if cost > most:
                return TIRED
            if at[3] == 0:
                if at[1] == time.size:
                    return FULL
                counts[at[1]] = 0
                at[3] = 1
                run.rows += 1
            run.cost = 0
            row = counts[at[1]]
            if passes is not None:
                iterate(run, requests, aside, lists, passes, times, arrival, row)
                run.stuck = is_stuck(run, requests, aside, lists)
            if blocks is not None:
                iterate_cached(run, requests, aside, lists, times, arrival, row, blocks)
            time[at[1]] = run.now
            if run.iteration % every == 0:
                at[1] += 1
                at[3] = 0
            cost += run.cost
        if at[3]:  # the last window may be shorter
            at[1] += 1
            at[3] = 0
        if run.keeps_times:
            if passes is not None:
                settle_all(run, requests, lists, passes, times)
            record(run, requests, aside, batch.found)
        at[0] += 1
        at[2] = 0
    return ENDED


@inner
def begin(
    run: Record,
    requests: Records,
    aside: Records,
    times: np.ndarray,
    tables: Tables,
) -> None:
    """Before the first iteration: nobody has come."""
    for r in range(run.requests):
        fill(run, requests[r], aside[r], tables, r)
    if tables.rank.size > 0:
        for r in range(run.requests):
            aside[aside[r].rank].who = r
    if run.keeps_times:
        for r in range(times.shape[1]):
            real = r < run.requests
            times[ADMITTED, r] = times[FIRST, r] = times[LAST, r] = np.nan
            times[GAP, r] = times[HALT, r] = 0.0 if real else np.nan
            come = real and run.clients == 0
            times[ARRIVAL, r] = tables.arrival[run.table, r] if come else np.nan


@inner
def start(
    run: Record,
    requests: Records,
    aside: Records,
    lists: Records,
    passes: Records,
    times: np.ndarray,
    tables: Tables,
) -> None:
    """The calendar is empty; the requests that `tables.start` names run."""
    for place in range(passes.size):
        passes[place].first = NONE
        passes[place].growing = 0
    passes[0].tick = 0.0
    for r in range(run.started):
        request = requests[r]
        request.outputs = tables.start[run.index, r]
        request.computed = request.input + request.outputs - 1
        request.highest = request.computed
        held = blocks_of(run, request.input + request.outputs - 1)
        request.blocks = given_blocks(run, request, aside[r].estimated, held)
        run.free -= request.blocks
        run.cached += request.computed
        if run.keeps_times:
            times[ADMITTED, r] = times[FIRST, r] = times[LAST, r] = 0.0
            times[ARRIVAL, r] = tables.arrival[run.table, r]
        enter(run, requests, lists, r)
    for r in range(run.started):
        lock(run, requests, passes, r)
    run.arrived = run.started
    run.loose = 0


@inner
def fill(run: Record, request: Record, aside: Record, tables: Tables, r: int) -> None:
    """A request as it is before it comes."""
    request.input = tables.input[run.table, r]
    request.target = tables.output[run.table, r]
    request.most = tables.most[run.table, r] if tables.most.size > 0 else 0
    request.marks = 0
    request.outputs = 0
    request.computed = 0
    request.highest = 0
    request.kept = 0
    request.evictions = 0
    if run.caching:
        aside.hits = aside.first_hits = 0
    if run.finds:
        aside.line = 0
    if tables.estimated.size > 0:
        aside.estimated = tables.estimated[run.table, r]
    if tables.rank.size > 0:
        aside.rank = tables.rank[run.table, r]
    if tables.predicted.size > 0:
        aside.predicted = tables.predicted[run.table, r]
    if tables.looseness.size > 0:
        aside.looseness = tables.looseness[run.table, r]


@inner
def iterate(
    run: Record,
    requests: Records,
    aside: Records,
    lists: Records,
    passes: Records,
    times: np.ndarray,
    arrival: np.ndarray,
    counts: np.ndarray,
) -> None:
    """One iteration; `counts` are added to."""
    counts[0] += run.running
    run.newcomers = 0
    run.asker = NONE
    arrive(run, aside, lists, times, arrival)
    if run.restore != RECOMPUTE:
        land(run, requests, aside, lists)
    early = run.prefill_alone or run.newcomers_first
    decodes, tokens, gone, resumed = True, 0, 0, 0
    run.may_admit = 1
    if run.prefill_alone:
        tokens = prefill(run, requests, lists)
    if early:
        more, resumed = admit(run, requests, aside, lists, times, run.budget - tokens)
        tokens += more
        decodes = run.newcomers_first or tokens == 0
    if decodes:
        budget = UNLIMITED if run.prefill_alone else run.budget - tokens
        gone = end_grants(run, requests, aside, lists, passes, times)
        evicted = evict(run, requests, aside, lists, passes, times, budget)
        run.may_admit = run.admits_after_eviction or evicted == 0
        gone += evicted
    if not early:
        left = run.budget - _asked(run, requests, lists)
        _, resumed = admit(run, requests, aside, lists, times, left)
    counts[1] += run.running
    counts[2] += run.waiting
    counts[3] += run.blocks - run.free
    counts[4] += gone
    counts[5] += run.newcomers - resumed
    counts[6] += resumed
    if run.restore != RECOMPUTE:
        counts[14] += copy(run, requests, aside, lists)
    execute(run, requests, aside, lists, passes, times, arrival, counts, decodes, None)
    if run.finds:
        run.distinct = run.known
        count_cache(run, counts)


@inner
def _asked(run: Record, requests: Records, lists: Records) -> int:
    """Tokens that who runs computes."""
    tokens = run.locked
    for place in range(run.loose):
        tokens += requests[lists[place].loose].tokens
    return tokens


@inner
def settle_all(
    run: Record, requests: Records, lists: Records, passes: Records, times: np.ndarray
) -> None:
    """How far those are that are locked is written at them."""
    for place in range(run.low, run.tail):
        r = lists[place].running
        if r != NONE and requests[r].marks & LOCKED:
            write_down(run, requests, passes, times, r)


@inner
def record(run: Record, requests: Records, aside: Records, found: Found) -> None:
    """What became of each request."""
    row = run.row
    for r in range(found.outputs.shape[1]):
        real = r < run.requests
        found.outputs[row, r] = requests[r].outputs if real else 0
        found.evictions[row, r] = requests[r].evictions if real else 0
        found.finished[row, r] = real and requests[r].outputs == requests[r].target
        if run.caching:
            found.hits[row, 0, r] = aside[r].hits if real else 0
            found.hits[row, 1, r] = aside[r].first_hits if real else 0
