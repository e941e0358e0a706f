"""Who comes, and who of the queue enters."""

import numpy as np

from fluidkv.runs.kernels import inner
from fluidkv.serving.kernel.finding import find_itself, from_line
from fluidkv.serving.kernel.layout import (
    ADMITTED,
    ARRIVAL,
    LOOSE,
    NONE,
    PEAK,
    RATIO,
    Record,
    Records,
)
from fluidkv.serving.kernel.memory import (
    blocks_of,
    given_blocks,
    may_enter,
    peak_of,
    possible_of,
)
from fluidkv.serving.kernel.queue import come, first, served
from fluidkv.serving.limits import UNLIMITED


@inner
def arrive(
    run: Record, aside: Records, lists: Records, times: np.ndarray, arrival: np.ndarray
) -> None:
    """Who has come by now; or one for each client that has nothing in the system."""
    while run.arrived < run.requests:
        if run.clients > 0:
            if run.arrived >= run.clients + run.done:
                return
            if run.keeps_times:
                times[ARRIVAL, run.arrived] = run.now
        elif arrival[run.arrived] > run.now:
            return
        come(run, aside, lists, run.arrived)
        run.arrived += 1


@inner
def enter(run: Record, requests: Records, lists: Records, r: int) -> None:
    """It runs, loose, at the end of the list."""
    request = requests[r]
    if run.tail == lists.size or run.tail - run.low > 2 * run.running + 64:
        move_together(run, requests, lists)
    request.marks |= LOOSE
    request.place = run.tail
    lists[run.tail].running = r
    run.tail += 1
    lists[run.loose].loose = r
    run.loose += 1
    run.running += 1
    if run.gate == RATIO:
        run.possible += possible_of(run, requests[r])
    elif run.gate == PEAK:
        run.peaks += peak_of(run, requests[r])


@inner
def move_together(run: Record, requests: Records, lists: Records) -> None:
    """Who runs stands without gaps."""
    to = 0
    for place in range(run.low, run.tail):
        r = lists[place].running
        if r != NONE:
            lists[to].running = r
            requests[r].place = to
            to += 1
    run.cost += run.tail - run.low
    run.low, run.tail = 0, to


@inner
def admit(
    run: Record, requests: Records, aside: Records, lists: Records, times: np.ndarray, budget: int
) -> tuple[int, int]:
    """From the head of the queue to the first that does not fit.

    Returns:
        Tokens that these compute, and how many of them were evicted before.
    """
    permits = UNLIMITED
    if run.rate > 0:
        run.credit += run.rate
        permits = run.credit // run.rate_unit
        run.credit -= permits * run.rate_unit
    run.newcomers = run.newcomers_hold = run.newcomers_possible = 0
    left, resumed = budget, 0
    while run.may_admit and run.waiting > 0 and run.newcomers < permits:
        r = first(run, aside, lists)
        request = requests[r]
        there = aside[r].line * run.block_size if run.finds else request.kept
        missing = request.input + request.outputs - there
        tokens = 0 if request.kept > 0 else min(missing, left)
        if tokens == 0 and request.kept == 0:
            break
        held = request.input + request.outputs if request.kept > 0 else there + tokens
        if run.running >= run.sequences or not may_enter(run, request, aside[r].estimated, held):
            break
        served(run, lists)
        enter(run, requests, lists, r)
        request.tokens = tokens
        left -= tokens
        if run.prefill_alone:
            held = request.input + request.outputs
        request.blocks = given_blocks(run, request, aside[r].estimated, blocks_of(run, held))
        request.computed = there
        run.cached += there
        run.free -= request.blocks
        if run.finds:
            find_itself(run, aside, r)
            from_line(run, aside, request.blocks - there // run.block_size)
        run.newcomers += 1
        run.newcomers_hold += request.blocks
        if run.gate == RATIO:
            run.newcomers_possible += possible_of(run, requests[r])
        if request.evictions > 0:
            resumed += 1
        elif run.keeps_times:
            times[ADMITTED, r] = run.now
        run.cost += 4
    return budget - left, resumed


@inner
def prefill(run: Record, requests: Records, lists: Records) -> int:
    """Of who is loose, prompts go on, in running order, while the budget lasts. Returns tokens."""
    left = run.budget
    for place in range(run.loose):
        request = requests[lists[place].loose]
        missing = request.input + request.outputs - request.computed
        request.tokens = 0
        if request.outputs == 0 or missing > 1:  # of whoever is copied back, one is missing
            request.tokens = min(missing, left)
            left -= request.tokens
    run.cost += 2 * run.loose
    return run.budget - left


@inner
def is_stuck(run: Record, requests: Records, aside: Records, lists: Records) -> bool:
    """As `reference.Engine.stuck`."""
    more_come = run.clients == 0 and run.arrived < run.requests
    if run.running > 0 or run.waiting == 0 or more_come:
        return False
    r = first(run, aside, lists)
    run.newcomers_hold = run.newcomers_possible = 0
    request = requests[r]
    return not may_enter(run, request, aside[r].estimated, request.input + request.outputs)
