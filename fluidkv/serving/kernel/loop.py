"""Runs one after the other: arrive, evict, admit, execute, until all is done or nothing fits."""

import numpy as np

from fluidkv.runs.kernels import inner, kernel
from fluidkv.serving.kernel.admit import admit, arrive, enter, is_stuck, prefill
from fluidkv.serving.kernel.evict import end_grants, evict
from fluidkv.serving.kernel.execute import copy, execute, land
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
    Found,
    Record,
    Records,
    Tables,
)
from fluidkv.serving.kernel.locked import lock, write_down
from fluidkv.serving.kernel.memory import blocks_of, given_blocks
from fluidkv.serving.limits import UNLIMITED


@kernel
def advance(
    batch: Batch,
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
        counts, time: rows, a window each: (row, count) and (row,).
        at: run that is next; rows that are whole; 1 while a run is under way; 1 in a window.
        horizon: iterations of a run.
        every: of a window.
        most: cost after which the call returns.

    Returns:
        `ENDED`, `FULL` or `TIRED`.
    """
    requests, aside, lists, passes = batch.space
    cost = 0
    while at[0] < batch.runs.size:
        run = batch.runs[at[0]]
        times = batch.found.times[run.row]
        arrival = batch.tables.arrival[run.table]
        if at[2] == 0:
            begin(run, requests, aside, lists, passes, times, batch.tables)
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
            iterate(run, requests, aside, lists, passes, times, arrival, counts[at[1]])
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
            record(run, requests, aside, lists, passes, times, batch.found)
        at[0] += 1
        at[2] = 0
    return ENDED


@inner
def begin(
    run: Record,
    requests: Records,
    aside: Records,
    lists: Records,
    passes: Records,
    times: np.ndarray,
    tables: Tables,
) -> None:
    """Before the first iteration: the requests that `start` names run, nobody waits."""
    for place in range(passes.size):
        passes[place].first = NONE
        passes[place].growing = 0
    passes[0].tick = 0.0
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
    request.blocks = 0
    request.highest = 0
    request.kept = 0
    request.evictions = 0
    request.tokens = 0
    aside.line = 0
    aside.hits = 0
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
    execute(run, requests, aside, lists, passes, times, arrival, counts, decodes)
    if run.finds:
        counts[14] += run.found
        counts[15] += run.said
        counts[16] += run.forgotten
        run.found = run.forgotten = 0


@inner
def _asked(run: Record, requests: Records, lists: Records) -> int:
    """Tokens that who runs computes."""
    tokens = run.locked
    for place in range(run.loose):
        tokens += requests[lists[place].loose].tokens
    return tokens


@inner
def record(
    run: Record,
    requests: Records,
    aside: Records,
    lists: Records,
    passes: Records,
    times: np.ndarray,
    found: Found,
) -> None:
    """What became of each request."""
    for place in range(run.low, run.tail):
        r = lists[place].running
        if r != NONE and requests[r].marks & LOCKED:
            write_down(run, requests, passes, times, r)
    row = run.row
    for r in range(found.outputs.shape[1]):
        real = r < run.requests
        found.outputs[row, r] = requests[r].outputs if real else 0
        found.evictions[row, r] = requests[r].evictions if real else 0
        found.finished[row, r] = real and requests[r].outputs == requests[r].target
        if run.finds:
            found.hits[row, r] = aside[r].hits if real else 0
