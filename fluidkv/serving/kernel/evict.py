"""Running requests ask for tokens and blocks, and victims go until all that is asked for fits."""

from fluidkv.runs.inlined import inlined
from fluidkv.serving.kernel.budget import tokens_of
from fluidkv.serving.kernel.calendar import leave, out_of_calendar, unlock, unlock_all
from fluidkv.serving.kernel.choosing import first_to_go
from fluidkv.serving.kernel.finding import from_line
from fluidkv.serving.kernel.grants import next_estimate
from fluidkv.serving.kernel.layout import (
    HALTED,
    LOCKED,
    LOOSE,
    NONE,
    OUTGROWN,
    PREEMPTED,
    Blocks,
    Record,
    Records,
    Space,
)
from fluidkv.serving.kernel.memory import blocks_of, next_ratio
from fluidkv.serving.kernel.pool import compute, note, release
from fluidkv.serving.kernel.requeue import come_back
from fluidkv.serving.kernel.restore import RECOMPUTE, copied_out


@inlined
def end_grants(run: Record, space: Space, passes: Records | None) -> int:
    """Who has outgrown what it was given goes, from the end of the list. Returns how many."""
    gone, place = 0, run.tail - 1
    run.cost += run.tail - run.low
    while run.outgrown > 0:
        r = space.lists[place].running
        place -= 1
        if r != NONE and space.requests[r].marks & OUTGROWN:
            request, memory = space.requests[r], run.blocks * run.block_size
            space.aside[r].estimated = next_estimate(
                run.allocation,
                request.input,
                request.outputs,
                space.aside[r].estimated,
                run.more_outputs,
                memory,
            )
            let_go(run, space, passes, r, None)
            gone += 1
    return gone


@inlined
def evict(
    run: Record, space: Space, passes: Records | None, budget: int, blocks: Blocks | None
) -> int:
    """Victims go; the others get their blocks. Returns evictions.

    Blocks with contents are taken one after the other: what a victim sets free, the next one takes.
    """
    evicted = 0
    if blocks is not None:
        evicted = _one_after_the_other(run, space, None, budget, blocks)
    if passes is not None:
        evicted = _counted(run, space, passes, budget)
    if run.counts_possible:
        next_ratio(run, space, evicted)
    return evicted


@inlined
def _counted(run: Record, space: Space, passes: Records, budget: int) -> int:
    """Victims go until all that is asked for fits; or in turn, where that is not the same."""
    growth, spare = _ask(run, space, passes, budget)
    if run.in_turn and run.free < growth + spare:
        return _one_after_the_other(run, space, passes, budget, None)
    evicted, taken = 0, 0
    while run.free < growth + spare:
        gone = first_to_go(run, space, None)
        if run.finds:  # those before it have asked, and took what was free
            before = growth - _asks(run, space.requests[gone])
            more = min(before, run.free) - taken
            from_line(run, space, more)
            taken += more
        let_go(run, space, passes, gone, None)
        evicted += 1
        growth, spare = _ask(run, space, passes, budget)
    _take(run, space)
    run.free -= growth
    if run.finds:
        from_line(run, space, growth - taken)
    return evicted


@inlined
def _asks(run: Record, request: Record) -> int:
    """Blocks that it asks for."""
    if request.marks & LOCKED:
        return 1 if request.residue == run.passes % run.modulus else 0
    return max(0, blocks_of(run, request.computed + request.tokens) - request.blocks)


@inlined
def _ask(run: Record, space: Space, passes: Records, budget: int) -> tuple[int, int]:
    """Tokens that loose requests compute next, newcomers apart.

    Who is locked computes one; where the budget does not serve all of these, nobody is locked.

    Returns:
        Blocks that are asked for; and one more that must be free where the last to ask needs none.
    """
    old = run.loose - run.newcomers
    wanted = 0
    for place in range(old):
        request = space.requests[space.lists[place].loose]
        if request.kept == 0:
            wanted += request.input + request.outputs - request.computed
    short = run.locked > 0 and run.locked + wanted > budget
    if short and (run.locked > budget or not _locked_come_first(run, space)):
        unlock_all(run, space, passes)
        old = run.loose - run.newcomers
    left = budget - run.locked
    growth = 0
    for place in range(old):
        request = space.requests[space.lists[place].loose]
        if request.kept == 0:
            length = request.input + request.outputs
            request.tokens = tokens_of(length, request.computed, left)
            left -= request.tokens
            needed = blocks_of(run, request.computed + request.tokens)
            growth += max(0, needed - request.blocks)
    run.cost += 2 * old
    if run.locked > 0:
        growth += passes[run.passes % run.modulus].growing
    spare = 0
    if run.one_free:
        spare = _spare(run, space)
    return growth, spare


@inlined
def _locked_come_first(run: Record, space: Space) -> bool:
    """Whether all loose requests stand behind them; somebody is loose."""
    first = space.requests[space.lists[0].loose].place
    for place in range(first, run.tail):
        r = space.lists[place].running
        if r != NONE and space.requests[r].marks & LOCKED:
            return False
    run.cost += run.tail - first
    return True


@inlined
def _spare(run: Record, space: Space) -> int:
    """1 where the last who asks needs no block, as one must be free for it all the same."""
    place = run.tail - run.newcomers  # they stand last
    while place > run.low:
        place -= 1
        r = space.lists[place].running
        if r == NONE:
            continue
        request = space.requests[r]
        if request.marks & LOCKED:
            return 0 if request.residue == run.passes % run.modulus else 1
        if request.tokens > 0:
            needs = blocks_of(run, request.computed + request.tokens) > request.blocks
            return 0 if needs else 1
    return 0


@inlined
def _take(run: Record, space: Space) -> None:
    """Loose requests hold the blocks of their next tokens."""
    for place in range(run.loose - run.newcomers):
        request = space.requests[space.lists[place].loose]
        if request.tokens > 0:
            needed = blocks_of(run, request.computed + request.tokens)
            request.blocks = max(request.blocks, needed)


@inlined
def _one_after_the_other(
    run: Record, space: Space, passes: Records | None, budget: int, blocks: Blocks | None
) -> int:
    """Each asks in its turn, and for one that finds no room victims go, itself maybe.

    Who finds no room beside the blocks of those behind it would find none beside all that they ask
    for. So, as long as tokens are the same either way, victims go for the same lists, and this is
    all at once. They are the same where the budget is not short, or where victims are the end of
    the list, as it is handed out from the front. A rule that counts blocks sees those that were
    taken in this round, which all at once are not.
    """
    if passes is not None:
        unlock_all(run, space, passes)
    for place in range(run.loose - run.newcomers):
        space.requests[space.lists[place].loose].tokens = 0
    left, evicted, place = budget, 0, run.low
    while place < run.tail - run.newcomers and left > 0:  # newcomers stand last
        r = space.lists[place].running
        place += 1
        if r == NONE:
            continue
        request = space.requests[r]
        if request.kept > 0:
            continue
        tokens = tokens_of(request.input + request.outputs, request.computed, left)
        needed = max(request.blocks, blocks_of(run, request.computed + tokens))
        growth = needed - request.blocks
        least = max(1, growth) if run.one_free else growth
        while request.marks & LOOSE and run.free < least:
            run.asker = r
            gone = first_to_go(run, space, blocks)
            left += space.requests[gone].tokens
            let_go(run, space, passes, gone, blocks)
            evicted += 1
        if request.marks & LOOSE:
            if blocks is not None:
                compute(run, request, blocks, r, tokens)
            else:
                run.free -= growth
                request.blocks = needed
                request.tokens = tokens
            left -= tokens
        run.cost += 8
    return evicted


@inlined
def let_go(
    run: Record, space: Space, passes: Records | None, r: int, blocks: Blocks | None
) -> None:
    """It is evicted: it leaves the running list and its memory, and waits."""
    request = space.requests[r]
    if passes is not None and request.marks & LOCKED:
        out_of_calendar(run, space, passes, r)
        unlock(run, space, passes, r)
    else:
        _out_of_loose(run, space, r)
    if blocks is not None:
        run.cost += request.blocks
        release(run, request, blocks, r)
        note(run, blocks, PREEMPTED, r, 0, 0)
    leave(run, space, r)
    if run.restore != RECOMPUTE and request.kept == 0:
        _copy_out(run, request)
    _back_to_queue(run, request, space, r)


@inlined
def _back_to_queue(run: Record, request: Record, space: Space, r: int) -> None:
    """What it had computed is no longer its own; another eviction before its next new output is
    of the same halt."""
    request.blocks = request.computed = 0
    request.evictions += 1
    if not request.marks & HALTED:
        request.marks |= HALTED
        space.aside[r].since = run.now
    if not run.keeps_outputs:
        request.outputs = 0
    come_back(run, space, r)


@inlined
def _copy_out(run: Record, request: Record) -> None:
    """Its cache goes to the host, if there is room. What the host still has is not copied again."""
    tokens = request.computed
    if not copied_out(run.restore, tokens, run.held, run.pool, run.sweet_spot):
        return
    request.kept = tokens
    run.held += tokens
    run.out += tokens
    run.leaving += 1
    run.longest = max(run.longest, tokens)


@inlined
def _out_of_loose(run: Record, space: Space, r: int) -> None:
    """The others move up, in their order."""
    at = run.loose - 1
    moved = space.lists[at].loose
    while moved != r:
        at -= 1
        before = space.lists[at].loose
        space.lists[at].loose = moved
        moved = before
    run.loose -= 1
    run.cost += run.loose - at
