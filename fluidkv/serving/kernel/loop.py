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
    Space,
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
    space = batch.space
    cost = 0
    while at[0] < batch.runs.size:
        run = batch.runs[at[0]]
        if at[2] == 0:
            begin(run, space, batch.tables)
            start(run, space, passes, batch.tables)
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
            iterate(run, space, passes, counts[at[1]], blocks)
            if passes is not None:
                run.stuck = is_stuck(run, space)
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
                settle_all(run, space, passes)
            record(run, space, batch.found)
        at[0] += 1
        at[2] = 0
    return ENDED


@inlined
def begin(run: Record, space: Space, tables: Tables) -> None:
    """Before the first iteration: nobody has come."""
    for r in range(run.requests):
        fill(run, space.requests[r], space.aside[r], tables, r)
    if tables.rank.size > 0:
        for r in range(run.requests):
            space.aside[space.aside[r].rank].who = r
    if run.keeps_times:
        row, times = run.row, space.times
        for r in range(times.shape[2]):
            real = r < run.requests
            times[row, ADMITTED, r] = times[row, FIRST, r] = times[row, LAST, r] = np.nan
            times[row, GAP, r] = times[row, HALT, r] = 0.0 if real else np.nan
            come = real and run.clients == 0
            times[row, ARRIVAL, r] = space.arrival[run.table, r] if come else np.nan


@inlined
def start(run: Record, space: Space, passes: Records | None, tables: Tables) -> None:
    """The calendar is empty; the requests that `tables.start` names run."""
    if passes is not None:
        for place in range(passes.size):
            passes[place].first = NONE
            passes[place].growing = 0
            passes[place].tick = 0.0
    for r in range(run.started):
        request = space.requests[r]
        request.outputs = tables.start[run.index, r]
        request.computed = request.input + request.outputs - 1
        request.highest = request.computed
        held = blocks_of(run, request.input + request.outputs - 1)
        request.blocks = given_blocks(run, request, space.aside[r].estimated, held)
        run.free -= request.blocks
        run.cached += request.computed
        if run.keeps_times:
            row, times = run.row, space.times
            times[row, ADMITTED, r] = times[row, FIRST, r] = times[row, LAST, r] = 0.0
            times[row, ARRIVAL, r] = space.arrival[run.table, r]
        enter(run, space, r)
    for r in range(run.started):
        if passes is not None and passes.size > 0:
            lock(run, space, passes, r)
            run.loose = 0
        else:
            note_outgrown(run, space.requests[r])
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
        aside.hit_tokens = aside.first_hit_tokens = 0
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
    run: Record, space: Space, passes: Records | None, counts: np.ndarray, blocks: Blocks | None
) -> None:
    """One iteration; `counts` are added to, as `COUNTS` or, with a cache, as `WITH_CACHE`."""
    counts[0] += run.running
    run.newcomers = run.noted = 0
    run.asker = NONE
    arrive(run, space)
    early, decodes, tokens, gone, resumed = False, True, 0, 0, 0
    run.may_admit = 1
    if passes is not None:  # else nobody comes first or is prefilled alone, nothing is copied
        if run.restore != RECOMPUTE:
            land(run, space)
        early = bool(run.prefill_alone or run.newcomers_first)
        if run.prefill_alone:
            tokens = prefill(run, space)
        if early:
            more, resumed = admit(run, space, run.budget - tokens, None)
            tokens += more
            decodes = bool(run.newcomers_first or tokens == 0)
    if decodes:
        budget = UNLIMITED if run.prefill_alone else run.budget - tokens
        if passes is not None:
            gone = end_grants(run, space, passes)
        evicted = evict(run, space, passes, budget, blocks)
        run.may_admit = run.admits_after_eviction or evicted == 0
        gone += evicted
    if not early:
        left = run.budget - _asked(run, space)
        _, resumed = admit(run, space, left, blocks)
    counts[1] += run.running
    counts[2] += run.waiting
    counts[3] += run.blocks - run.free
    counts[4] += gone
    counts[5] += run.newcomers - resumed
    counts[6] += resumed
    if passes is not None and run.restore != RECOMPUTE:
        counts[14] += copy(run, space)
    execute(run, space, passes, counts, decodes, blocks)
    if run.finds:
        run.distinct = run.known
    if run.caching:
        count_cache(run, counts)


@inlined
def _asked(run: Record, space: Space) -> int:
    """Tokens that who runs computes."""
    tokens = run.locked
    for place in range(run.loose):
        tokens += space.requests[space.lists[place].loose].tokens
    return tokens


@inlined
def settle_all(run: Record, space: Space, passes: Records) -> None:
    """How far those are that are locked is written at them."""
    for place in range(run.low, run.tail):
        r = space.lists[place].running
        if r != NONE and space.requests[r].marks & LOCKED:
            write_down(run, space, passes, r)


@inlined
def record(run: Record, space: Space, found: Found) -> None:
    """What became of each request."""
    row = run.row
    for r in range(found.outputs.shape[1]):
        real = r < run.requests
        found.outputs[row, r] = space.requests[r].outputs if real else 0
        found.evictions[row, r] = space.requests[r].evictions if real else 0
        found.finished[row, r] = real and space.requests[r].outputs == space.requests[r].target
        if run.caching:
            found.hits[row, 0, r] = space.aside[r].hit_tokens if real else 0
            found.hits[row, 1, r] = space.aside[r].first_hit_tokens if real else 0
