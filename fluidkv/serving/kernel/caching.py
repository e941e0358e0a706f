"""One iteration of vLLM with its prefix cache: evict and admit, block by block.

Requests that begin alike share blocks, and one that comes back finds what nobody took of it. What
is found needs no computing, only its memory. All who run are loose, so an iteration costs how many
run; as `caching.vllm`, to the bit.
"""

import numpy as np

from fluidkv.runs.kernels import inner
from fluidkv.serving.kernel.admit import arrive, enter
from fluidkv.serving.kernel.evict import back_to_queue, out_of_loose
from fluidkv.serving.kernel.execute import execute
from fluidkv.serving.kernel.finding import count_cache
from fluidkv.serving.kernel.layout import (
    ADMITTED,
    COST_AWARE,
    ENTERED,
    FIRST_CHUNK,
    LOOSE,
    NONE,
    PREEMPTED,
    Blocks,
    Record,
    Records,
)
from fluidkv.serving.kernel.locked import leave
from fluidkv.serving.kernel.memory import blocks_of
from fluidkv.serving.kernel.pool import compute, look_up, note, own_blocks, release, share
from fluidkv.serving.kernel.queue import first, served
from fluidkv.serving.kernel.victims import victim


@inner
def iterate_cached(
    run: Record,
    requests: Records,
    aside: Records,
    lists: Records,
    times: np.ndarray,
    arrival: np.ndarray,
    counts: np.ndarray,
    blocks: Blocks,
) -> None:
    """One iteration; `counts`, as `WITH_CACHE`, are added to."""
    counts[0] += run.running
    run.newcomers = run.noted = 0
    arrive(run, aside, lists, times, arrival)
    evicted, left = _evict(run, requests, aside, lists, blocks)
    resumed = 0
    if evicted == 0:
        resumed = _admit(run, requests, aside, lists, times, blocks, left)
    counts[1] += run.running
    counts[2] += run.waiting
    counts[3] += run.blocks - run.free
    counts[4] += evicted
    counts[5] += run.newcomers - resumed
    counts[6] += resumed
    execute(run, requests, aside, lists, None, times, arrival, counts, True, blocks)
    count_cache(run, counts)


@inner
def _evict(
    run: Record, requests: Records, aside: Records, lists: Records, blocks: Blocks
) -> tuple[int, int]:
    """Each takes its blocks in turn: what a victim sets free, the next one takes.

    Returns:
        Evictions, and the tokens of the budget that are left.
    """
    for place in range(run.loose):
        requests[lists[place].loose].tokens = 0
    left, evicted, place = run.budget, 0, run.low
    while place < run.tail and left > 0:
        r = lists[place].running
        place += 1
        if r == NONE:
            continue
        request = requests[r]
        tokens = min(request.input + request.outputs - request.computed, left)
        lacks = blocks_of(run, request.computed + tokens) - request.blocks
        while request.marks & LOOSE and run.free < lacks:
            run.asker = r
            if run.victim == COST_AWARE:
                _count_own(run, requests, aside, lists, blocks)
            gone = victim(run, requests, aside, lists)
            left += requests[gone].tokens
            _let_go(run, requests, aside, lists, blocks, gone)
            evicted += 1
        if request.marks & LOOSE:
            compute(run, request, blocks, r, tokens)
            left -= tokens
        run.cost += 8
    return evicted, left


@inner
def _count_own(
    run: Record, requests: Records, aside: Records, lists: Records, blocks: Blocks
) -> None:
    for place in range(run.loose):
        r = lists[place].loose
        aside[r].own = own_blocks(requests[r], blocks, r)
        run.cost += requests[r].blocks


@inner
def _let_go(
    run: Record, requests: Records, aside: Records, lists: Records, blocks: Blocks, r: int
) -> None:
    """It is evicted: it leaves the running list and its blocks, and waits."""
    run.cost += requests[r].blocks
    out_of_loose(run, lists, r)
    release(run, requests[r], blocks, r)
    leave(run, requests, aside, lists, r)
    back_to_queue(run, requests[r], aside, lists, r)
    note(run, blocks, PREEMPTED, r, 0, 0)


@inner
def _admit(
    run: Record,
    requests: Records,
    aside: Records,
    lists: Records,
    times: np.ndarray,
    blocks: Blocks,
    budget: int,
) -> int:
    """From the head of the queue to the first that does not fit. Returns how many came back."""
    left, resumed = budget, 0
    while run.waiting > 0 and left > 0 and run.running < run.sequences:
        kept = run.watermark if run.running > 0 else 0
        if run.free <= kept:  # a token at least is computed, in a block that is not found
            break
        r = first(run, aside, lists)
        request = requests[r]
        known, unheld = look_up(run, request, blocks, r)
        run.cost += 4 + known
        length, found = request.input + request.outputs, known * run.block_size
        chunk = min(length - found, left)
        whole = found + chunk if run.gate == FIRST_CHUNK else length
        if blocks_of(run, whole) - known + unheld + kept > run.free:
            break
        served(run, lists)
        enter(run, requests, lists, r)
        share(run, request, blocks, r, known)
        compute(run, request, blocks, r, chunk)
        run.cost += request.blocks
        run.cached += found
        run.newcomers += 1
        left -= chunk
        run.found += found
        aside[r].hits += found
        if request.evictions > 0:
            resumed += 1
        else:
            aside[r].first_hits = found
            if run.keeps_times:
                times[ADMITTED, r] = run.now
        note(run, blocks, ENTERED, r, found, chunk)
    return resumed
