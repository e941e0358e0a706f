"""Runs one after the other: arrive, evict, admit, execute, until all is done or nothing fits."""

import numpy as np

from fluidkv.runs.inlined import inlined
from fluidkv.serving.kernel.admit import admit, arrive, enter, is_stuck, prefill
from fluidkv.serving.kernel.calendar import lock, note_outgrown, write_down
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
    TIRED,
    Batch,
    Blocks,
    Found,
    Record,
    Records,
    Tables,
)
from fluidkv.serving.kernel.memory import blocks_of, given_blocks
from fluidkv.serving.kernel.pool import clear
from fluidkv.serving.kernel.restore import RECOMPUTE
from fluidkv.serving.limits import UNLIMITED


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
        passes: the calendar of a memory that is counted; empty: there is none, and every request is
            looked at in every iteration; None: blocks have contents.
        blocks: the memory of one run with a prefix cache; None: it is counted. The compiler leaves
            out what an argument that is None would need.
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
            iterate(run, requests, aside, lists, passes, times, arrival, row, blocks)
            if passes is not None:
                run.stuck = is_stuck(run, requests, aside, lists)
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


@inlined
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


@inlined
def start(
    run: Record,
    requests: Records,
    aside: Records,
    lists: Records,
    passes: Records | None,
    times: np.ndarray,
    tables: Tables,
) -> None:
    """The calendar is empty; the requests that `tables.start` names run."""
    if passes is not None:
        for place in range(passes.size):
            passes[place].first = NONE
            passes[place].growing = 0
            passes[place].tick = 0.0
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
        if passes is not None and passes.size > 0:
            lock(run, requests, passes, r)
            run.loose = 0
        else:
            note_outgrown(run, requests[r])
    run.arrived = run.started


@inlined
def fill(run: Record, request: Record, aside: Record, tables: Tables, r: int) -> None:
    """A request as it is before it comes."""
    request.input = tables.input[run.table, r]
    request.target = tables.output[run.table, r]
    request.most = tables.most[run.table, r] if tables.most.size > 0 else 0
    request.marks = 0
    request.outputs = 0
    request.blocks = 0
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


@inlined
def iterate(
    run: Record,
    requests: Records,
    aside: Records,
    lists: Records,
    passes: Records | None,
    times: np.ndarray,
    arrival: np.ndarray,
    counts: np.ndarray,
    blocks: Blocks | None,
) -> None:
    """One iteration; `counts` are added to, as `COUNTS` or, with a cache, as `WITH_CACHE`."""
    counts[0] += run.running
    run.newcomers = run.noted = 0
    run.asker = NONE
    arrive(run, aside, lists, times, arrival)
    early, decodes, tokens, gone, resumed = False, True, 0, 0, 0
    run.may_admit = 1
    if passes is not None:  # else nobody comes first or is prefilled alone, nothing is copied
        if run.restore != RECOMPUTE:
            land(run, requests, aside, lists)
        early = bool(run.prefill_alone or run.newcomers_first)
        if run.prefill_alone:
            tokens = prefill(run, requests, lists)
        if early:
            more, resumed = admit(run, requests, aside, lists, times, run.budget - tokens, None)
            tokens += more
            decodes = bool(run.newcomers_first or tokens == 0)
    if decodes:
        budget = UNLIMITED if run.prefill_alone else run.budget - tokens
        if passes is not None:
            gone = end_grants(run, requests, aside, lists, passes, times)
        evicted = evict(run, requests, aside, lists, passes, times, budget, blocks)
        run.may_admit = run.admits_after_eviction or evicted == 0
        gone += evicted
    if not early:
        left = run.budget - _asked(run, requests, lists)
        _, resumed = admit(run, requests, aside, lists, times, left, blocks)
    counts[1] += run.running
    counts[2] += run.waiting
    counts[3] += run.blocks - run.free
    counts[4] += gone
    counts[5] += run.newcomers - resumed
    counts[6] += resumed
    if passes is not None and run.restore != RECOMPUTE:
        counts[14] += copy(run, requests, aside, lists)
    execute(run, requests, aside, lists, passes, times, arrival, counts, decodes, blocks)
    if run.finds:
        run.distinct = run.known
    if run.caching:
        count_cache(run, counts)


@inlined
def _asked(run: Record, requests: Records, lists: Records) -> int:
    """Tokens that who runs computes."""
    tokens = run.locked
    for place in range(run.loose):
        tokens += requests[lists[place].loose].tokens
    return tokens


@inlined
def settle_all(
    run: Record, requests: Records, lists: Records, passes: Records, times: np.ndarray
) -> None:
    """How far those are that are locked is written at them."""
    for place in range(run.low, run.tail):
        r = lists[place].running
        if r != NONE and requests[r].marks & LOCKED:
            write_down(run, requests, passes, times, r)


@inlined
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
