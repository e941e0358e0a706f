"""One trajectory of any number of classes, compiled: from one change to the next, as in `single`.

Requests of a label complete at several ends, those of its classes, so there is a head for each end.
What a unit of a label holds and loses depends on its kind: labels that were admitted have the
proportions of admission, those of the start what the start has. Two rows say it, of a *mix*:

    places    the ends (decode lengths), increasing; the row in a state of each class, those that
              end earlier first; for each end the first of its classes, and one more at the end
    units     for each kind, four numbers of each end: requests of a unit that live between the end
              before and this one, and their input tokens; requests that complete here and the
              tokens that they hold; then the mass of each class

A mix without classes has one row for all, of units.
"""

from fluidkv.fluid.positions.lane import (
    ADMITTED,
    ALIVE,
    BIRTHS,
    CAPACITY,
    COMPLETED,
    COUNTED,
    EVICTED,
    EVICTIONS,
    FIRST_EVICTION,
    FRESH,
    HEAD,
    IN_FLIGHT,
    LAST_FULL,
    LOGGED,
    NEVER,
    NEXT,
    NOW,
    OLDER,
    REQUESTS,
    RING,
    SINCE,
    TAIL,
    TOKENS,
    TOTAL,
    TURN,
    UNITS,
    Row,
    used_up,
)
from fluidkv.runs.kernels import inner

HELD, INPUTS, LEAVING, FREED = range(4)
"""The four numbers of an end."""


@inner
def follow(
    numbers: Row,
    counts: Row,
    log: Row,
    states: Row,
    places: Row,
    units: Row,
    ends: int,
    classes: int,
    until: int,
    every: int,
) -> None:
    """To iteration `until`.

    Args:
        numbers, counts: a lane.
        log: of each window that ends on the way, what it was like; may have no rows.
        states: of each such window, masses (row, stage); may have no windows.
        places, units: a mix, with so many ends and classes.
        every: length of a window.
    """
    window, look = 0, (counts[NOW] // every + 1) * every
    while counts[NOW] < until:
        now, since = counts[NOW], counts[SINCE]
        last = min(counts[NEXT] - 1, until, look)
        total, older, tokens = numbers[TOTAL], numbers[OLDER], numbers[TOKENS]
        if last > now and older + total / (tokens + (last - since)) > 0.0:
            _evicting(counts, now, last)
            counts[NOW] = last
        else:
            if counts[NEXT] > now + 1:  # the youngest label is used up on the way
                n = since + used_up(total, older, tokens, now + 1 - since, last - since)
                _evicting(counts, now, n)
                before = total / (tokens + (n - 1 - since))
                excess = before - (older + before) * (tokens + (n - since))
                numbers[REQUESTS] = -older
                _lose(numbers, counts, places, units, ends, classes, numbers[COUNTED], n - 1)
                _drop(counts, ends)
                counts[NOW] = n
            else:
                if now > since and since != NEVER:
                    _count_up(numbers, counts, places, units, ends, classes)
                    numbers[REQUESTS] = total / (tokens + (now - since))
                    at = (counts[TAIL] - 1) & (counts[RING] - 1)
                    numbers[UNITS + at] = numbers[COUNTED]
                counts[NOW] = now + 1
                excess = _complete(numbers, counts, places, units, ends, classes)
                if excess > 0.0:
                    _evicting(counts, now, now + 1)
                elif excess == 0.0:
                    counts[LAST_FULL] = now + 1
                else:
                    _admit(numbers, counts, places, units, ends, classes, -excess)
            if excess > 0.0:
                _trim(numbers, counts, places, units, ends, classes, excess)
            _settle(numbers, counts, places, units, ends, classes)
        if counts[NOW] == min(look, until):
            _count_up(numbers, counts, places, units, ends, classes)
        if counts[NOW] == look and log.shape[0] > 0:
            _look(numbers, counts, log, window, places, units, ends, classes)
            if states.shape[0] > 0:
                write_state(numbers, counts, states, window, places, units, ends, classes)
            window += 1
        if counts[NOW] == look:
            look += every


@inner
def _segment(places: Row, age: int) -> int:
    """The first end beyond an age."""
    j = 0
    while places[j] <= age:
        j += 1
    return j


@inner
def _evicting(counts: Row, before: int, now: int) -> None:
    """Each iteration after `before`, up to now, evicts."""
    counts[EVICTIONS] += now - before
    if counts[FIRST_EVICTION] == NEVER:
        counts[FIRST_EVICTION] = before + 1
    counts[LAST_FULL] = now


@inner
def _flow(
    numbers: Row,
    counts: Row,
    places: Row,
    units: Row,
    ends: int,
    classes: int,
    which: int,
    kind: int,
    first: int,
    after: int,
    amount: float,
) -> None:
    """Counts the requests of so many units that end at the ends from `first` to before `after`."""
    flows = UNITS + counts[RING] + which * max(classes, 1)
    base = kind * (4 * ends + classes)
    if classes == 0:
        # One end, or all from `first` on.
        number = HELD if after == ends else LEAVING
        numbers[flows] += amount * units[base + 4 * first + number]
    else:
        for c in range(places[ends + classes + first], places[ends + classes + after]):
            numbers[flows + places[ends + c]] += amount * units[base + 4 * ends + c]


@inner
def _lose(
    numbers: Row,
    counts: Row,
    places: Row,
    units: Row,
    ends: int,
    classes: int,
    amount: float,
    now: int,
) -> None:
    """So many units of the youngest label are evicted; it is as old as at `now`."""
    at = (counts[TAIL] - 1) & (counts[RING] - 1)
    first = _segment(places, now - counts[BIRTHS + at])
    kind = counts[BIRTHS + counts[RING] + at]
    _flow(numbers, counts, places, units, ends, classes, EVICTED, kind, first, ends, amount)


@inner
def _count_up(
    numbers: Row,
    counts: Row,
    places: Row,
    units: Row,
    ends: int,
    classes: int,
) -> None:
    """Counts what the youngest label has lost so far."""
    if counts[NOW] > counts[SINCE]:
        gone = counts[NOW] - counts[SINCE]
        left = numbers[OLDER] + numbers[TOTAL] / (numbers[TOKENS] + gone)
        left /= numbers[ALIVE]
        lost = numbers[COUNTED] - left
        _lose(numbers, counts, places, units, ends, classes, lost, counts[NOW])
        numbers[COUNTED] = left


@inner
def _complete(
    numbers: Row,
    counts: Row,
    places: Row,
    units: Row,
    ends: int,
    classes: int,
) -> float:
    """What completes leaves; tokens by which execution then exceeds memory."""
    ring, now, tail = counts[RING], counts[NOW], counts[TAIL]
    heads, stride = BIRTHS + 2 * ring, 4 * ends + classes
    requests, freed = numbers[REQUESTS], 0.0
    for j in range(ends):
        at = counts[heads + j] & (ring - 1)
        if counts[heads + j] < tail and counts[BIRTHS + at] + places[j] == now:
            counts[heads + j] += 1
            kind, amount = counts[BIRTHS + ring + at], numbers[UNITS + at]
            requests -= amount * units[kind * stride + 4 * j + LEAVING]
            freed += amount * units[kind * stride + 4 * j + FREED]
            _flow(numbers, counts, places, units, ends, classes, COMPLETED, kind, j, j + 1, amount)
    counts[HEAD] = counts[heads + ends - 1]
    counts[TURN] += 1
    excess = requests - freed
    if counts[TURN] > tail - counts[HEAD]:
        counts[TURN] = 0
        requests, held = 0.0, 0.0
        for label in range(counts[HEAD], tail):
            at = label & (ring - 1)
            age = now - counts[BIRTHS + at]
            base = counts[BIRTHS + ring + at] * stride + 4 * _segment(places, age)
            alive = units[base + HELD]
            requests += numbers[UNITS + at] * alive
            held += numbers[UNITS + at] * (units[base + INPUTS] + (1 + age) * alive)
        excess = held - numbers[CAPACITY]
    numbers[REQUESTS] = requests
    return excess


@inner
def _trim(
    numbers: Row,
    counts: Row,
    places: Row,
    units: Row,
    ends: int,
    classes: int,
    excess: float,
) -> None:
    """Least progressed first: a label that needs no more than the excess is used up."""
    ring, now = counts[RING], counts[NOW]
    while excess > 0.0:
        at = (counts[TAIL] - 1) & (ring - 1)
        age = now - counts[BIRTHS + at]
        base = counts[BIRTHS + ring + at] * (4 * ends + classes) + 4 * _segment(places, age)
        alive = units[base + HELD]
        tokens, amount = units[base + INPUTS] + (1 + age) * alive, numbers[UNITS + at]
        needed = amount * tokens
        cut = excess / tokens if needed > excess else amount
        numbers[UNITS + at] = amount - cut
        numbers[REQUESTS] -= cut * alive
        _lose(numbers, counts, places, units, ends, classes, cut, now)
        if needed <= excess:
            _drop(counts, ends)
        excess = max(excess - needed, 0.0)


@inner
def _drop(counts: Row, ends: int) -> None:
    """The youngest label is used up."""
    counts[TAIL] -= 1
    heads, j = BIRTHS + 2 * counts[RING], 0
    while j < ends and counts[heads + j] > counts[TAIL]:
        counts[heads + j] = counts[TAIL]
        j += 1


@inner
def _admit(
    numbers: Row,
    counts: Row,
    places: Row,
    units: Row,
    ends: int,
    classes: int,
    free: float,
) -> None:
    ring = counts[RING]
    at = counts[TAIL] & (ring - 1)
    amount = free / (units[INPUTS] + units[HELD])
    counts[BIRTHS + at], counts[BIRTHS + ring + at] = counts[NOW], FRESH
    numbers[UNITS + at] = amount
    numbers[REQUESTS] += amount * units[HELD]
    counts[TAIL] += 1
    _flow(numbers, counts, places, units, ends, classes, ADMITTED, FRESH, 0, ends, amount)


@inner
def _settle(
    numbers: Row,
    counts: Row,
    places: Row,
    units: Row,
    ends: int,
    classes: int,
) -> None:
    """Memory is full: what holds until something completes or the youngest is used up."""
    ring, now = counts[RING], counts[NOW]
    at, age, base, alive = 0, 0, 0, 0.0
    while alive == 0.0:
        at = (counts[TAIL] - 1) & (ring - 1)
        age = now - counts[BIRTHS + at]
        base = counts[BIRTHS + ring + at] * (4 * ends + classes) + 4 * _segment(places, age)
        alive = units[base + HELD]
        if alive == 0.0:  # its requests have completed; of the longer classes there were none
            _drop(counts, ends)
    own, tail = numbers[UNITS + at] * alive, counts[TAIL]
    if tail - counts[HEAD] == 1:
        numbers[REQUESTS] = own
    each = (units[base + INPUTS] + (1 + age) * alive) / alive
    numbers[TOTAL] = numbers[REQUESTS] * each
    numbers[OLDER] = own - numbers[REQUESTS]
    numbers[TOKENS], numbers[ALIVE] = each, alive
    numbers[COUNTED] = numbers[UNITS + at]
    following = now + places[ends - 1]
    for j in range(ends):
        head = counts[BIRTHS + 2 * ring + j]
        if head < tail:
            following = min(following, counts[BIRTHS + (head & (ring - 1))] + places[j])
    counts[SINCE], counts[NEXT] = now, following


@inner
def _look(
    numbers: Row,
    counts: Row,
    log: Row,
    window: int,
    places: Row,
    units: Row,
    ends: int,
    classes: int,
) -> None:
    """Writes a row of the log, and begins to count anew."""
    ring, now = counts[RING], counts[NOW]
    rows, tail = max(classes, 1), counts[TAIL]
    flows = UNITS + ring
    for i in range(3 * rows):
        log[window, i] = numbers[flows + i]
        numbers[flows + i] = 0.0
    empty = places[ends - 1] - (tail - counts[HEAD])
    if classes == 0:
        gone = now - counts[SINCE]
        in_flight = numbers[REQUESTS]
        if gone > 0:
            in_flight = numbers[TOTAL] / (numbers[TOKENS] + gone)
        log[window, IN_FLIGHT] = in_flight
    else:
        for row in range(rows):
            log[window, IN_FLIGHT * rows + row] = 0.0
        for label in range(counts[HEAD], tail):
            at = label & (ring - 1)
            amount = numbers[COUNTED] if label == tail - 1 else numbers[UNITS + at]
            kind, first = counts[BIRTHS + ring + at], _segment(places, now - counts[BIRTHS + at])
            base = kind * (4 * ends + classes)
            empty += units[base + 4 * first + HELD] == 0.0  # its requests have completed
            for c in range(places[ends + classes + first], classes):
                column = IN_FLIGHT * rows + places[ends + c]
                log[window, column] += amount * units[base + 4 * ends + c]
    log[window, LOGGED * rows] = empty


@inner
def write_state(
    numbers: Row,
    counts: Row,
    states: Row,
    window: int,
    places: Row,
    units: Row,
    ends: int,
    classes: int,
) -> None:
    """Masses (row, stage) where the lane is; COUNTED has the units of the youngest label."""
    for row in range(states.shape[1]):
        for stage in range(states.shape[2]):
            states[window, row, stage] = 0.0
    ring, now, tail = counts[RING], counts[NOW], counts[TAIL]
    for label in range(counts[HEAD], tail):
        at = label & (ring - 1)
        age = now - counts[BIRTHS + at]
        amount = numbers[COUNTED] if label == tail - 1 else numbers[UNITS + at]
        if classes == 0:
            states[window, 0, age] = amount
        else:
            base = counts[BIRTHS + ring + at] * (4 * ends + classes) + 4 * ends
            for c in range(places[ends + classes + _segment(places, age)], classes):
                states[window, places[ends + c], age] = amount * units[base + c]
