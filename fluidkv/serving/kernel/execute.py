"""Tokens are computed, the clock runs, and requests whose whole length is computed emit one."""

from typing import Any

import numpy as np

from fluidkv.runs.inlined import inlined
from fluidkv.serving.kernel import budget
from fluidkv.serving.kernel.calendar import emit_new, events, leave, lock, note_outgrown, tick
from fluidkv.serving.kernel.layout import FINISHED, LOOSE, Blocks, Record, Records, Space
from fluidkv.serving.kernel.memory import possible_of
from fluidkv.serving.kernel.pool import note, release
from fluidkv.serving.kernel.restore import end_of_copies


@inlined
def land(run: Record, space: Space) -> None:
    """Who is back by now leaves the host."""
    for place in range(run.loose):
        r = space.lists[place].loose
        request = space.requests[r]
        if request.kept > 0 and space.aside[r].ready <= run.now:
            run.held -= request.kept
            request.kept = 0


@inlined
def copy(run: Record, space: Space) -> int:
    """Copies of this iteration, as `swap` says: those out, then those in. Returns tokens."""
    shared = run.shared != 0
    free = max(run.now, run.free_at) if shared else run.now
    if run.leaving > 0:
        out, copies = run.longest, 1
        if shared:
            out, copies = run.out, run.leaving
        free = end_of_copies(free, run.per_token, out, run.per_copy, copies)
        run.now = free
    back, tokens, copies, last = 0, 0, 0, free
    for place in range(run.loose - run.newcomers, run.loose):
        r = space.lists[place].loose
        kept = space.requests[r].kept
        if kept == 0:
            continue
        back += kept
        tokens = tokens + kept if shared else kept
        copies = copies + 1 if shared else 1
        last = end_of_copies(free, run.per_token, tokens, run.per_copy, copies)
        space.aside[r].ready = last
    run.free_at = last
    copied = run.out + back
    run.out = run.leaving = run.longest = 0
    return copied


@inlined
def execute(
    run: Record,
    space: Space,
    passes: Records | None,
    counts: np.ndarray,
    decodes: bool,
    blocks: Blocks | None,
) -> None:
    """Compute. `decodes`: whether who is locked does, too. `counts` as `COUNTS`.

    `blocks`: of a run with a prefix cache, where nobody is locked and there are no `passes`.
    """
    computing, tokens, prefilled, pairs, recomputed = _compute(run, space)
    locked = run.locked if decodes else 0
    run.cached += tokens + locked
    counts[8] += computing + locked
    counts[9] += tokens + locked
    counts[10] += prefilled
    counts[12] += run.cached
    tokens += locked
    _advance(run, space, computing + locked == 0, tokens, prefilled, pairs)
    done, new_outputs = 0, 0
    if passes is not None and locked > 0:
        run.passes += 1
        if run.finds:
            run.known += passes[run.passes % run.modulus].growing  # blocks that this pass fills
        if run.keeps_times:
            tick(run, passes)
        run.possible -= run.falling
        done = events(run, space, passes)
        recomputed += run.silent
        new_outputs = locked - run.silent
    more, new = _emit(run, space, passes, blocks)
    done += more
    run.done += done
    counts[7] += done
    counts[11] += recomputed
    counts[13] += new_outputs + new
    run.iteration += 1
    run.cost += 8 + 4 * run.loose


@inlined
def _compute(run: Record, space: Space) -> tuple[int, int, int, int, int]:
    """Of loose requests: how many compute, tokens, those of prefill, their pairs, those again."""
    computing, tokens, prefilled, pairs, recomputed = 0, 0, 0, 0, 0
    for place in range(run.loose):
        request = space.requests[space.lists[place].loose]
        new = request.tokens
        if new == 0:
            continue
        computed = request.computed
        if not budget.decodes(request.input, request.outputs, computed):
            prefilled += new
            pairs += budget.pairs(computed, new)
        recomputed += budget.again(new, request.highest, computed)
        request.computed = computed + new
        if run.finds:
            run.known += (computed + new) // run.block_size - computed // run.block_size
        computing += 1
        tokens += new
    return computing, tokens, prefilled, pairs, recomputed


@inlined
def _advance(
    run: Record, space: Space, idle: bool, tokens: int, prefilled: int, pairs: int
) -> None:
    """An iteration lasts what it costs; an idle one, a tick or until who it waits for."""
    if not idle:
        run.now += budget.duration(
            run.base, run.per_kv, run.cached, run.per_prefill, prefilled, run.per_pair, pairs
        ) + budget.of_batch(
            run.per_request, tokens - prefilled, run.experts, run.expert_share, tokens
        )
        return
    if run.jumps:
        waits, until = _awaited(run, space)
        if waits:
            run.now = max(run.now, until)
            return
    run.now += run.base


@inlined
def _awaited(run: Record, space: Space) -> tuple[bool, Any]:
    """What an idle engine waits for: who is copied back; if nobody waits, who comes next."""
    waits, until = False, 0.0
    for place in range(run.loose):
        r = space.lists[place].loose
        if space.requests[r].kept > 0 and (not waits or space.aside[r].ready < until):
            waits, until = True, space.aside[r].ready
    more_come = run.clients == 0 and run.waiting == 0 and run.arrived < run.requests
    if more_come and (not waits or space.arrival[run.table, run.arrived] < until):
        waits, until = True, space.arrival[run.table, run.arrived]
    return waits, until


@inlined
def _emit(
    run: Record, space: Space, passes: Records | None, blocks: Blocks | None
) -> tuple[int, int]:
    """Loose requests whose length is computed emit, and are locked or done.

    Returns:
        How many are done, and outputs that are new.
    """
    done, new, left, size = 0, 0, 0, run.loose
    for place in range(size):
        r = space.lists[place].loose
        request = space.requests[r]
        if request.computed != request.input + request.outputs:
            request.highest = max(request.highest, request.computed)
            space.lists[left].loose = r
            left += 1
            continue
        if run.counts_possible:
            run.possible -= possible_of(run, space.requests[r])
        request.outputs += 1
        if run.counts_possible:
            run.possible += possible_of(run, space.requests[r])
        if request.computed > request.highest:
            new += 1
            emit_new(run, space, r)
            request.highest = request.computed
        if request.outputs == request.target:
            request.marks &= ~LOOSE
            if blocks is not None:
                release(run, request, blocks, r)
                note(run, blocks, FINISHED, r, 0, 0)
            leave(run, space, r)
            done += 1
            continue
        if passes is not None and passes.size > 0:
            lock(run, space, passes, r)
        else:
            note_outgrown(run, request)
            space.lists[left].loose = r
            left += 1
    run.loose = left
    return done, new
