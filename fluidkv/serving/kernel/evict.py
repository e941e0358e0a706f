"""Who runs asks for tokens and blocks, and victims go until all that is asked for fits."""

import numpy as np

from fluidkv.runs.kernels import inner
from fluidkv.serving.kernel.finding import from_line
from fluidkv.serving.kernel.layout import (
    CHEAPER,
    HALTED,
    LOCKED,
    LOOSE,
    NONE,
    OUTGROWN,
    RATIO,
    RECOMPUTE,
    Record,
    Records,
)
from fluidkv.serving.kernel.locked import leave, out_of_calendar, unlock, unlock_all
from fluidkv.serving.kernel.memory import blocks_of, next_estimate, next_ratio
from fluidkv.serving.kernel.queue import come_back
from fluidkv.serving.kernel.victims import victim


@inner
def end_grants(
    run: Record,
    requests: Records,
    aside: Records,
    lists: Records,
    passes: Records,
    times: np.ndarray,
) -> int:
    """Who has outgrown what it was given goes, from the end of the list. Returns how many."""
    gone, place = 0, run.tail - 1
    run.cost += run.tail - run.low
    while run.outgrown > 0:
        r = lists[place].running
        place -= 1
        if r != NONE and requests[r].marks & OUTGROWN:
            aside[r].estimated = next_estimate(run, requests[r], aside[r].estimated)
            let_go(run, requests, aside, lists, passes, times, r)
            gone += 1
    return gone


@inner
def evict(
    run: Record,
    requests: Records,
    aside: Records,
    lists: Records,
    passes: Records,
    times: np.ndarray,
    budget: int,
) -> int:
    """Victims go; the others get their blocks. Returns evictions."""
    growth, most = ask(run, requests, lists, passes, times, budget)
    evicted, taken = 0, 0
    if not _fits(run, growth, most):
        if run.in_turn:
            evicted = _one_after_the_other(run, requests, aside, lists, passes, times, budget)
            growth = 0
        else:
            while not _fits(run, growth, most):
                gone = victim(run, requests, aside, lists)
                if run.finds:  # those before it have asked, and took what was free
                    before = growth - _asks(run, requests[gone])
                    more = min(before, run.free) - taken
                    from_line(run, aside, more)
                    taken += more
                let_go(run, requests, aside, lists, passes, times, gone)
                evicted += 1
                growth, most = ask(run, requests, lists, passes, times, budget)
            _take(run, requests, lists)
    else:
        _take(run, requests, lists)
    run.free -= growth
    if run.finds:
        from_line(run, aside, growth - taken)
    if run.gate == RATIO:
        next_ratio(run, requests, lists, evicted)
    return evicted


@inner
def _asks(run: Record, request: Record) -> int:
    """Blocks that it asks for."""
    if request.marks & LOCKED:
        return 1 if request.residue == run.passes % run.modulus else 0
    return max(0, blocks_of(run, request.computed + request.tokens) - request.blocks)


@inner
def _fits(run: Record, growth: int, spare: int) -> bool:
    return run.free >= growth + spare


@inner
def ask(
    run: Record, requests: Records, lists: Records, passes: Records, times: np.ndarray, budget: int
) -> tuple[int, int]:
    """Tokens that loose requests compute next, newcomers apart.

    Who is locked computes one; where the budget does not serve all of these, nobody is locked.

    Returns:
        Blocks that are asked for; and one more that must be free where the last to ask needs none.
    """
    old = run.loose - run.newcomers
    wanted = 0
    for place in range(old):
        request = requests[lists[place].loose]
        if request.kept == 0:
            wanted += request.input + request.outputs - request.computed
    short = run.locked > 0 and run.locked + wanted > budget
    if short and (run.locked > budget or not _locked_come_first(run, requests, lists)):
        unlock_all(run, requests, lists, passes, times)
        old = run.loose - run.newcomers
    left = budget - run.locked
    growth = 0
    for place in range(old):
        request = requests[lists[place].loose]
        if request.kept == 0:
            request.tokens = min(request.input + request.outputs - request.computed, left)
            left -= request.tokens
            needed = blocks_of(run, request.computed + request.tokens)
            growth += max(0, needed - request.blocks)
    run.cost += 2 * old
    growth += passes[run.passes % run.modulus].growing
    spare = 0
    if run.one_free:
        spare = _spare(run, requests, lists)
    return growth, spare


@inner
def _locked_come_first(run: Record, requests: Records, lists: Records) -> bool:
    """Whether all loose requests stand behind them; somebody is loose."""
    first = requests[lists[0].loose].place
    for place in range(first, run.tail):
        r = lists[place].running
        if r != NONE and requests[r].marks & LOCKED:
            return False
    run.cost += run.tail - first
    return True


@inner
def _spare(run: Record, requests: Records, lists: Records) -> int:
    """1 where the last who asks needs no block, as one must be free for it all the same."""
    place = run.tail - run.newcomers  # they stand last
    while place > run.low:
        place -= 1
        r = lists[place].running
        if r == NONE:
            continue
        request = requests[r]
        if request.marks & LOCKED:
            return 0 if request.residue == run.passes % run.modulus else 1
        if request.tokens > 0:
            needs = blocks_of(run, request.computed + request.tokens) > request.blocks
            return 0 if needs else 1
    return 0


@inner
def _take(run: Record, requests: Records, lists: Records) -> None:
    """Loose requests hold the blocks of their next tokens."""
    for place in range(run.loose - run.newcomers):
        request = requests[lists[place].loose]
        if request.tokens > 0:
            needed = blocks_of(run, request.computed + request.tokens)
            request.blocks = max(request.blocks, needed)


@inner
def _one_after_the_other(
    run: Record,
    requests: Records,
    aside: Records,
    lists: Records,
    passes: Records,
    times: np.ndarray,
    budget: int,
) -> int:
    """As `reference.Engine` does it in turn, where what all ask for does not fit."""
    unlock_all(run, requests, lists, passes, times)
    for place in range(run.loose):
        requests[lists[place].loose].tokens = 0
    left, evicted, place = budget, 0, run.low
    while place < run.tail and left > 0:
        r = lists[place].running
        place += 1
        if r == NONE:
            continue
        request = requests[r]
        if request.kept > 0:
            continue
        tokens = min(request.input + request.outputs - request.computed, left)
        needed = max(request.blocks, blocks_of(run, request.computed + tokens))
        growth = needed - request.blocks
        least = max(1, growth) if run.one_free else growth
        while request.marks & LOOSE and run.free < least:
            run.asker = r
            gone = victim(run, requests, aside, lists)
            left += requests[gone].tokens
            let_go(run, requests, aside, lists, passes, times, gone)
            evicted += 1
        if request.marks & LOOSE:
            run.free -= growth
            request.blocks = needed
            request.tokens = tokens
            left -= tokens
        run.cost += 4
    return evicted


@inner
def let_go(
    run: Record,
    requests: Records,
    aside: Records,
    lists: Records,
    passes: Records,
    times: np.ndarray,
    r: int,
) -> None:
    """It is evicted: it leaves the running list and its memory, and waits."""
    request = requests[r]
    if request.marks & LOCKED:
        out_of_calendar(run, requests, passes, r)
        unlock(run, requests, passes, times, r)
    else:
        out_of_loose(run, lists, r)
    leave(run, requests, aside, lists, r)
    if run.restore != RECOMPUTE and request.kept == 0:
        copy_out(run, request)
    back_to_queue(run, request, aside, lists, r)


@inner
def back_to_queue(run: Record, request: Record, aside: Records, lists: Records, r: int) -> None:
    """What it had computed is no longer its own; another eviction before its next new output is
    of the same halt."""
    request.computed = 0
    request.evictions += 1
    if not request.marks & HALTED:
        request.marks |= HALTED
        aside[r].since = run.now
    if not run.keeps_outputs:
        request.outputs = 0
    come_back(run, aside, lists, r)


@inner
def copy_out(run: Record, request: Record) -> None:
    """As `Copies.leave`: its cache goes to the host, if there is room."""
    tokens = request.computed
    if run.held + tokens > run.pool or (run.restore == CHEAPER and tokens <= run.sweet_spot):
        return
    request.kept = tokens
    run.held += tokens
    run.out += tokens
    run.leaving += 1
    run.longest = max(run.longest, tokens)


@inner
def out_of_loose(run: Record, lists: Records, r: int) -> None:
    """The others move up, in their order."""
    at = run.loose - 1
    moved = lists[at].loose
    while moved != r:
        at -= 1
        before = lists[at].loose
        lists[at].loose = moved
        moved = before
    run.loose -= 1
    run.cost += run.loose - at
