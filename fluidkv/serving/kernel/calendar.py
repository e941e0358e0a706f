"""Which requests compute a token in every pass: recorded when something changes, not before."""

from fluidkv.runs.inlined import inlined
from fluidkv.serving.kernel.finding import into_line
from fluidkv.serving.kernel.grants import outgrown
from fluidkv.serving.kernel.layout import (
    FALLING,
    FIRST,
    GAP,
    HALT,
    HALTED,
    LAST,
    LOCKED,
    LOOSE,
    NONE,
    OUTGROWN,
    RUNS,
    SILENT,
    Record,
    Records,
    Space,
)
from fluidkv.serving.kernel.memory import blocks_held, blocks_of, peak_of, possible_of

# ------------------------------------------------------------------------- times of passes


@inlined
def tick(run: Record, passes: Records) -> None:
    """A pass is over. Of the gaps between two passes only those are kept that no later one reaches.

    A gap from more passes ago than the calendar is long is nobody's.
    """
    mask = passes.size - 1
    at = run.passes & mask
    gap = run.now - passes[(run.passes - 1) & mask].tick
    passes[at].tick = run.now
    while run.steep_to > run.steep_from and passes[(run.steep_to - 1) & mask].steep <= gap:
        run.steep_to -= 1
    passes[run.steep_to & mask].steep = gap
    passes[run.steep_to & mask].steep_at = run.passes
    run.steep_to += 1
    if passes[run.steep_from & mask].steep_at < run.passes - mask:
        run.steep_from += 1


@inlined
def widest(run: Record, passes: Records, first: int) -> float:
    """The longest gap of the passes from `first` on: that of the first kept one."""
    mask = passes.size - 1
    low, high = run.steep_from, run.steep_to - 1
    while low < high:
        middle = (low + high) >> 1
        if passes[middle & mask].steep_at < first:
            low = middle + 1
        else:
            high = middle
    return passes[low & mask].steep


@inlined
def emit_new(run: Record, space: Space, r: int) -> None:
    """An output at this time that its client has not seen; it ends a halt."""
    request = space.requests[r]
    if run.keeps_times:
        last = space.times[run.row, LAST, r]
        if last != last:
            space.times[run.row, FIRST, r] = run.now
        else:
            space.times[run.row, GAP, r] = max(space.times[run.row, GAP, r], run.now - last)
        space.times[run.row, LAST, r] = run.now
        if request.marks & HALTED:
            space.times[run.row, HALT, r] += run.now - space.aside[r].since
    request.marks &= ~HALTED


# --------------------------------------------------------------------------------- who is locked


@inlined
def lock(run: Record, space: Space, passes: Records, r: int) -> None:
    """It has emitted, and will in every pass."""
    request = space.requests[r]
    request.marks = (request.marks & ~LOOSE) | LOCKED
    request.base = run.passes
    request.residue = NONE
    run.locked += 1
    if request.highest > request.computed or request.marks & HALTED:
        request.marks |= SILENT
        run.silent += 1
    settle(run, space, passes, r)


@inlined
def settle(run: Record, space: Space, passes: Records, r: int) -> None:
    """What is true of it from now on; and its next event, which is put into the calendar."""
    request = space.requests[r]
    steps = request.target - request.outputs
    if request.marks & SILENT:
        steps = min(steps, request.highest - request.computed + 1)
    if request.residue == NONE:
        spare = request.blocks * run.block_size - run.reserved - request.computed
        if run.evicts_itself:
            if spare > 0:
                steps = min(steps, spare)
            else:
                note_outgrown(run, request)
        elif spare < run.modulus:
            request.residue = (run.passes + spare) % run.modulus
            passes[request.residue].growing += 1
        else:
            steps = min(steps, spare)
    if run.counts_possible and not request.marks & FALLING:
        counted = space.requests[r].most - request.outputs - run.clip
        if counted > 0:
            steps = min(steps, counted)
        else:
            request.marks |= FALLING
            run.falling += 1
    request.event = run.passes + steps
    bucket = request.event & (passes.size - 1)
    request.after = passes[bucket].first
    passes[bucket].first = r


@inlined
def note_outgrown(run: Record, request: Record) -> None:
    """Whoever has outgrown what it was given goes before it computes again."""
    needed = blocks_of(run, request.input + request.outputs)
    if run.evicts_itself and outgrown(needed, request.blocks):
        request.marks |= OUTGROWN
        run.outgrown += 1


@inlined
def write_down(run: Record, space: Space, passes: Records, r: int) -> None:
    """What the passes since `base` did to a locked request."""
    request = space.requests[r]
    steps = run.passes - request.base
    if steps == 0:
        return
    request.blocks = blocks_held(run, request)
    request.outputs += steps
    request.computed += steps
    if not request.marks & SILENT:
        request.highest = request.computed
        if run.keeps_times:
            mask = passes.size - 1
            gap = passes[(request.base + 1) & mask].tick - space.times[run.row, LAST, r]
            if steps > 1:
                gap = max(gap, widest(run, passes, request.base + 2))
            space.times[run.row, GAP, r] = max(space.times[run.row, GAP, r], gap)
            space.times[run.row, LAST, r] = passes[run.passes & mask].tick
    request.base = run.passes


@inlined
def unlock(run: Record, space: Space, passes: Records, r: int) -> None:
    """It is as it is written down, and in no sum but those of all that run."""
    request = space.requests[r]
    write_down(run, space, passes, r)
    if request.residue != NONE:
        passes[request.residue].growing -= 1
    if request.marks & SILENT:
        run.silent -= 1
    if request.marks & FALLING:
        run.falling -= 1
    run.locked -= 1
    request.marks &= ~(LOCKED | SILENT | FALLING)


@inlined
def out_of_calendar(run: Record, space: Space, passes: Records, r: int) -> None:
    """Before its event. Who was put in last is found first."""
    bucket = space.requests[r].event & (passes.size - 1)
    at = passes[bucket].first
    if at == r:
        passes[bucket].first = space.requests[r].after
        return
    while space.requests[at].after != r:
        at = space.requests[at].after
        run.cost += 1
    space.requests[at].after = space.requests[r].after


@inlined
def unlock_all(run: Record, space: Space, passes: Records) -> None:
    """Everybody who runs is loose, in running order."""
    run.loose = 0
    mask = passes.size - 1
    for place in range(run.low, run.tail):
        r = space.lists[place].running
        if r == NONE:
            continue
        request = space.requests[r]
        if request.marks & LOCKED:
            passes[request.event & mask].first = NONE
            unlock(run, space, passes, r)
            request.marks |= LOOSE
        space.lists[run.loose].loose = r
        run.loose += 1
    run.cost += 4 * (run.tail - run.low)


# --------------------------------------------------------------------------------------- events


@inlined
def events(run: Record, space: Space, passes: Records) -> int:
    """What happens to who is locked in this pass, which is over; returns how many are done."""
    bucket = run.passes & (passes.size - 1)
    r = passes[bucket].first
    passes[bucket].first = NONE
    done = 0
    while r != NONE:
        request = space.requests[r]
        after = request.after
        write_down(run, space, passes, r)
        if request.computed > request.highest:  # as only of who is silent
            request.marks &= ~SILENT
            run.silent -= 1
            request.highest = request.computed
            emit_new(run, space, r)
        if request.outputs == request.target:
            unlock(run, space, passes, r)
            leave(run, space, r)
            done += 1
        else:
            settle(run, space, passes, r)
        r = after
        run.cost += 8
    return done


@inlined
def leave(run: Record, space: Space, r: int) -> None:
    """It is in the running list no more, and holds nothing. Who is locked was unlocked."""
    request = space.requests[r]
    if run.finds:
        into_line(run, space.requests[r], space, r)
    run.free += request.blocks
    run.cached -= request.computed
    if run.counts_possible:
        run.possible -= possible_of(run, space.requests[r])
    if run.counts_peaks:
        run.peaks -= peak_of(run, space.requests[r])
    if request.marks & OUTGROWN:
        run.outgrown -= 1
    request.marks &= ~(RUNS | OUTGROWN)
    space.lists[request.place].running = NONE
    run.running -= 1
    while run.tail > run.low and space.lists[run.tail - 1].running == NONE:
        run.tail -= 1
    while run.low < run.tail and space.lists[run.low].running == NONE:
        run.low += 1
