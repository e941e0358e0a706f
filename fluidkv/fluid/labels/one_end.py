"""The kernel's loop where all requests have one decode length: from one event to the next.

In the frame of relative positions no mass moves. What is alive is a queue: a completion takes the
oldest label from its front, admission puts one at its back, eviction trims the back and takes from
there what it has used up (Lemma A.3: each label once). Memory is full after every iteration, so
that the tokens that are left for the youngest label, the *room*, say what it is: with w tokens a
request it is room / w. In an iteration in which nothing completes the others, O requests in all,
grow by a token each. That telescopes: after k iterations the room is smaller by k O. So one step
leads to the next completion, or to the iteration in which the youngest label is used up
(Proposition A.4), and a trajectory costs a few operations for each completion and each label lost,
whatever the number of stages. What is looked at in between is computed from where the last event
was.

Sums are made anew from the labels after each `turn`, so that no roundings add up. Where it is d
iterations these are a function of the masses at their start and of nothing else: masses that come
again bit by bit come again for ever.

Source: Congestion, equation (2), Appendix A.1 (Lemma A.3, Proposition A.4).
"""

import numpy as np

from fluidkv.fluid.labels import lane as col
from fluidkv.fluid.labels.tables import HELD, STAGES
from fluidkv.fluid.labels.windows import record_units
from fluidkv.runs.kernels import inner


@inner
def follow_one_end(table, lane, windows, reached, turn, until, every):
    """One lane to iteration `until`; labels are units of one request."""
    unit, stages, mask = table.unit, table.sizes[STAGES], lane.mass.size - 1
    counts, numbers, mass, after = lane.counts, lane.numbers, lane.mass, lane.after
    now, since, quiet = counts[col.NOW], counts[col.SINCE], counts[col.QUIET]
    young, oldest, live = counts[col.YOUNG], counts[col.OLDEST], counts[col.LIVE]
    evictions, room, older = counts[col.EVICTIONS], numbers[col.ROOM], numbers[col.OLDER]
    admitted, completed = numbers[col.ADMITTED], numbers[col.COMPLETED]
    evicted, zero, full = numbers[col.EVICTED], 0 * lane.capacity, True
    anew, window = -(-now // turn) * turn, now // every
    look = (window + 1) * every
    while now < until:
        if now == anew:
            room, older, full = _begin_turn(table, lane, now, oldest, young, live)
            since, quiet, anew = now, now, anew + turn
            if full:
                quiet += _lasting(room, older, oldest + stages - 1 - now)
        stop = min(min(look, anew), until)
        while now < stop:
            at = np.uint64(young & mask)
            if quiet > now:  # up to there each iteration evicts from the youngest label
                if evictions == 0:
                    counts[col.FIRST_EVICTION] = now + 1
                evictions -= now
                now = min(quiet, stop)
                evictions += now
                counts[col.LAST_FULL] = now
                if quiet >= stop:
                    before = mass[at]
                    mass[at] = (room - (now - since) * older) / unit[now - young, HELD]
                    evicted += before - mass[at]
                    continue
            now += 1
            if now == oldest + stages:
                if quiet > since:
                    room -= (quiet - since) * older
                    before = mass[at]
                    mass[at] = room / unit[quiet - young, HELD]
                    evicted += before - mass[at]
                done = np.uint64(oldest & mask)
                units = mass[done]
                mass[done], live, completed = zero, live - 1, completed + units
                oldest, older = after[done], older - units
                room += unit[stages - 1, HELD] * units - older
                if live == 0:
                    room, older, full = lane.capacity, zero, False
                free = room - mass[at] * unit[now - young, HELD] if full else room
            else:
                room -= (now - since) * older
                free = -1.0 if full else room
            if free > 0.0:
                older = older + mass[at] if full else older
                oldest = now if live == 0 else oldest
                after[at], room, live = now, free, live + 1
                at = np.uint64(now & mask)
                lane.link[at], young = young, now
                mass[at] = room / unit[0, HELD]
                admitted += mass[at]
            else:
                if evictions == 0 and free < 0.0:
                    counts[col.FIRST_EVICTION] = now
                evictions += free < 0.0
                young, live, room, older, lost = _trim(
                    table, lane, now, young, live, room, older, full
                )
                evicted += lost
                _note_levels(counts, reached, now, stages - live, evictions)
            full, since, quiet = True, now, now
            if oldest + stages - 1 > now:
                quiet += _lasting(room, older, oldest + stages - 1 - now)
        if now == look:
            flows = admitted, completed, evicted, older + mass[np.uint64(young & mask)]
            record_units(table, lane, windows, now, window, live, flows)
            admitted, completed, evicted = zero, zero, zero
            window, look = window + 1, look + every
    counts[col.NOW], counts[col.SINCE], counts[col.QUIET] = now, since, quiet
    counts[col.YOUNG], counts[col.OLDEST], counts[col.LIVE] = young, oldest, live
    counts[col.EVICTIONS], numbers[col.ROOM], numbers[col.OLDER] = evictions, room, older
    numbers[col.ADMITTED], numbers[col.COMPLETED] = admitted, completed
    numbers[col.EVICTED] = evicted


@inner
def _begin_turn(table, lane, now, oldest, young, live):
    """Tokens left for the youngest label, the requests of all older ones, and whether it takes all
    of these tokens: if not, as in a start below capacity, it counts with the older ones."""
    mass, mask, birth = lane.mass, lane.mass.size - 1, oldest
    room, older = lane.capacity, 0 * lane.capacity
    while birth != young:
        at = np.uint64(birth & mask)
        older += mass[at]
        room -= mass[at] * table.unit[now - birth, HELD]
        birth = lane.after[at]
    if now > 0:
        return room, older, True
    if live == 0:
        return room, older, False
    units = mass[np.uint64(young & mask)]
    below = room - units * table.unit[-young, HELD]
    if below <= col.SLACK * lane.capacity:
        return room, older, True
    return below, older + units, False


@inner
def _trim(table, lane, now, young, live, room, older, full):
    """The youngest label as large as its room; one without room is used up, and what it lacks too
    is taken from the next.

    Returns:
        The youngest label that is left, how many live, tokens left for it, requests of the older
        ones, and those that are evicted.
    """
    mass, mask, held = lane.mass, lane.mass.size - 1, table.unit
    at, lost = np.uint64(young & mask), 0 * room
    lane.counts[col.LAST_FULL] = now
    if not full:  # it counts with the older ones
        older -= mass[at]
        room += mass[at] * held[now - young, HELD]
    while room <= 0.0 and live > 1:
        lost, live = lost + mass[at], live - 1
        mass[at], young = 0 * room, lane.link[at]
        at = np.uint64(young & mask)
        older -= mass[at]
        room += mass[at] * held[now - young, HELD]
    before = mass[at]
    mass[at] = room / held[now - young, HELD]
    return young, live, room, older, lost + (before - mass[at])


@inner
def _note_levels(counts, reached, now, empty, evictions):
    """Eviction leaves so many stages empty."""
    while counts[col.LEVEL] < empty:
        counts[col.LEVEL] += 1
        reached[counts[col.LEVEL]], counts[col.EVICTIONS_THEN] = now, evictions


@inner
def _lasting(room, older, most):
    """Iterations, up to `most`, after which there is room."""
    if room - most * older > 0.0:
        return most
    n = min(most, max(1, int(room / older)))  # the quotient may be rounded to either side of it
    while n > 1 and room - (n - 1) * older <= 0.0:
        n -= 1
    while room - n * older > 0.0:
        n += 1
    return n - 1
