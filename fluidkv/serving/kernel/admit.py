"""Which requests arrive, and which of the queue enter."""

from fluidkv.runs.inlined import inlined
from fluidkv.serving.kernel.budget import decodes, tokens_of
from fluidkv.serving.kernel.finding import find_itself, from_line
from fluidkv.serving.kernel.layout import (
    ADMITTED,
    ARRIVAL,
    ENTERED,
    LOOSE,
    NONE,
    Blocks,
    Record,
    Space,
)
from fluidkv.serving.kernel.memory import (
    blocks_of,
    given_blocks,
    may_enter,
    peak_of,
    possible_of,
)
from fluidkv.serving.kernel.pool import compute, look_up, note, share
from fluidkv.serving.kernel.requeue import come, first, served
from fluidkv.serving.limits import UNLIMITED


@inlined
def arrive(run: Record, space: Space) -> None:
    """Who has come by now; or one for each client that has nothing in the system."""
    while run.arrived < run.requests:
        if run.clients > 0:
            if run.arrived >= run.clients + run.done:
                return
            if run.keeps_times:
                space.times[run.row, ARRIVAL, run.arrived] = run.now
        elif space.arrival[run.table, run.arrived] > run.now:
            return
        come(run, space, run.arrived)
        run.arrived += 1


@inlined
def enter(run: Record, space: Space, r: int) -> None:
    """It runs, loose, at the end of the list."""
    request = space.requests[r]
    if run.tail == space.lists.size or run.tail - run.low > 2 * run.running + 64:
        move_together(run, space)
    request.marks |= LOOSE
    request.place = run.tail
    space.lists[run.tail].running = r
    run.tail += 1
    space.lists[run.loose].loose = r
    run.loose += 1
    run.running += 1
    if run.counts_possible:
        run.possible += possible_of(run, space.requests[r])
    if run.counts_peaks:
        run.peaks += peak_of(run, space.requests[r])


@inlined
def move_together(run: Record, space: Space) -> None:
    """Who runs stands without gaps."""
    to = 0
    for place in range(run.low, run.tail):
        r = space.lists[place].running
        if r != NONE:
            space.lists[to].running = r
            space.requests[r].place = to
            to += 1
    run.cost += run.tail - run.low
    run.low, run.tail = 0, to


@inlined
def admit(run: Record, space: Space, budget: int, blocks: Blocks | None) -> tuple[int, int]:
    """From the head of the queue to the first that does not fit.

    What is found in a prefix cache needs no computing, only its memory.

    Returns:
        Tokens that these compute, and how many of them were evicted before.
    """
    permits = UNLIMITED
    if run.rate > 0:
        run.credit += run.rate
        permits = run.credit // run.rate_unit
        run.credit -= permits * run.rate_unit  # whole permits are used now or lapse
    run.newcomers = run.newcomers_hold = run.newcomers_possible = 0
    left, resumed = budget, 0
    while run.may_admit and run.waiting > 0 and run.newcomers < permits:
        r = first(run, space)
        request = space.requests[r]
        if run.running >= run.sequences or (left == 0 and request.kept == 0):
            break
        there, known, unheld = request.kept, 0, 0
        if run.finds:
            there = space.aside[r].line * run.block_size
        if blocks is not None:
            if run.free <= (run.watermark if run.running > 0 else 0):
                break  # a token at least is computed, in a block that is not found
            known, unheld = look_up(run, request, blocks, r)
            there = known * run.block_size
            run.cost += known
        length = request.input + request.outputs
        tokens = 0 if request.kept > 0 else tokens_of(length, there, left)
        held = length if request.kept > 0 else there + tokens
        estimated = space.aside[r].estimated
        if not may_enter(run, request, estimated, r, held, known - unheld):
            break
        served(run, space)
        enter(run, space, r)
        left -= tokens
        run.cached += there
        if blocks is not None:
            share(run, request, blocks, r, known)
            compute(run, request, blocks, r, tokens)
            note(run, blocks, ENTERED, r, there, tokens)
            space.aside[r].hit_tokens += there
            run.found += there
            if request.evictions == 0:
                space.aside[r].first_hit_tokens = there
            run.cost += request.blocks
        else:
            _hold(run, request, space, r, there, tokens, held)
        run.newcomers += 1
        run.newcomers_hold += request.blocks
        if run.counts_possible:
            run.newcomers_possible += possible_of(run, space.requests[r])
        if request.evictions > 0:
            resumed += 1
        elif run.keeps_times:
            space.times[run.row, ADMITTED, r] = run.now
        run.cost += 4
    return budget - left, resumed


@inlined
def _hold(
    run: Record, request: Record, space: Space, r: int, there: int, tokens: int, held: int
) -> None:
    """Blocks that are counted: those that it is given; where prefills run alone, for all of it."""
    if run.prefill_alone:
        held = request.input + request.outputs
    request.tokens = tokens
    request.blocks = given_blocks(run, request, space.aside[r].estimated, blocks_of(run, held))
    request.computed = there
    run.free -= request.blocks
    if run.finds:
        find_itself(run, space, r)
        from_line(run, space, request.blocks - there // run.block_size)


@inlined
def prefill(run: Record, space: Space) -> int:
    """Of who is loose, prompts go on, in running order, while the budget lasts. Returns tokens."""
    left = run.budget
    for place in range(run.loose):
        request = space.requests[space.lists[place].loose]
        request.tokens = 0
        if not decodes(request.input, request.outputs, request.computed):  # or is copied back
            request.tokens = tokens_of(request.input + request.outputs, request.computed, left)
            left -= request.tokens
    run.cost += 2 * run.loose
    return run.budget - left


@inlined
def is_stuck(run: Record, space: Space) -> bool:
    """Nothing runs, nobody comes any more, and whoever waits first can never be admitted."""
    more_come = run.clients == 0 and run.arrived < run.requests
    if run.running > 0 or run.waiting == 0 or more_come:
        return False
    r = first(run, space)
    run.newcomers_hold = run.newcomers_possible = 0
    request = space.requests[r]
    length = request.input + request.outputs
    return not may_enter(run, request, space.aside[r].estimated, r, length, 0)
