"""One trajectory of one class, compiled: from one change to the next.

The operations are those of `reference.Positions` in their order, so that both agree bit by bit,
with one difference: where nothing completes and the youngest label lasts, the iterations between
are not made, since the requests in flight at any of them are A / w. So time goes from one
completion, or end of a label, to the next. What is looked at in between is computed where it is
looked at and changes nothing: a trajectory does not depend on what is recorded of it.

`mixed` does the same for any number of ends; here a unit is a request, and what changes all the
time fits in registers.
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


@inner
def follow(
    numbers: Row,
    counts: Row,
    log: Row,
    states: Row,
    inputs: float,
    stages: int,
    until: int,
    every: int,
) -> None:
    """To iteration `until`: a lane of a class with l0 = `inputs` and l1 = `stages`.

    For each window of `every` iterations that ends on the way, `log` gets a row, and row 0 of
    `states` (window, row, stage) the masses; either may have no windows.
    """
    now, since, following = counts[NOW], counts[SINCE], counts[NEXT]
    head, tail, mask = counts[HEAD], counts[TAIL], counts[RING] - 1
    requests, total, older = numbers[REQUESTS], numbers[TOTAL], numbers[OLDER]
    tokens, counted, flows = numbers[TOKENS], numbers[COUNTED], UNITS + mask + 1
    admitted, completed, evicted = numbers[flows], numbers[flows + 1], numbers[flows + 2]
    window, look = 0, (now // every + 1) * every
    while now < until:
        last = min(following - 1, until, look)
        if last > now and older + total / (tokens + (last - since)) > 0.0:
            now = _evicting(counts, now, last)
        else:
            if following > now + 1:  # the youngest label is used up on the way
                n = used_up(total, older, tokens, now + 1 - since, last - since)
                now = _evicting(counts, now, since + n)
                before = total / (tokens + (n - 1))
                excess = before - (older + before) * (tokens + n)
                requests, evicted, tail = -older, evicted + counted, tail - 1
            else:
                if now > since and since != NEVER:
                    requests = total / (tokens + (now - since))
                    numbers[UNITS + ((tail - 1) & mask)] = older + requests
                    evicted += counted - (older + requests)
                now += 1
                excess = requests
                if head < tail and counts[BIRTHS + (head & mask)] + stages == now:
                    requests -= numbers[UNITS + (head & mask)]
                    excess = requests - (inputs + stages) * numbers[UNITS + (head & mask)]
                    completed += numbers[UNITS + (head & mask)]
                    head += 1
                counts[TURN] += 1
                if counts[TURN] > tail - head:
                    requests, excess = _sums(numbers, counts, inputs, head, tail, now)
                if excess < 0.0:
                    counted = -excess / (inputs + 1.0)
                    counts[BIRTHS + (tail & mask)], numbers[UNITS + (tail & mask)] = now, counted
                    requests, admitted, tail = requests + counted, admitted + counted, tail + 1
                elif excess == 0.0:
                    counts[LAST_FULL] = now
                else:
                    _evicting(counts, now - 1, now)
            tail, requests, evicted, counted, tokens = _trim(
                numbers, counts, inputs, tail, now, requests, evicted, excess
            )
            since = now
            if tail - head == 1:
                requests = counted
            total, older = requests * tokens, counted - requests
            following = counts[BIRTHS + (head & mask)] + stages
        if now == look and log.shape[0] > 0:
            in_flight = requests if now == since else total / (tokens + (now - since))
            left = counted if now == since else older + in_flight
            _write(log, window, admitted, completed, evicted + (counted - left), in_flight)
            log[window, LOGGED] = stages - (tail - head)
            _write_state(numbers, counts, head, tail, now, left, states, window)
            admitted, completed, evicted, counted = 0.0, 0.0, 0.0, left
            window, look = window + 1, look + every
    if now > since:
        left = older + total / (tokens + (now - since))
        evicted, counted = evicted + (counted - left), left
    counts[NOW], counts[SINCE], counts[NEXT] = now, since, following
    counts[HEAD], counts[TAIL] = head, tail
    numbers[REQUESTS], numbers[TOTAL], numbers[OLDER] = requests, total, older
    numbers[TOKENS], numbers[ALIVE], numbers[COUNTED] = tokens, 1.0, counted
    numbers[flows], numbers[flows + 1], numbers[flows + 2] = admitted, completed, evicted


@inner
def _write(
    log: Row, window: int, admitted: float, completed: float, evicted: float, in_flight: float
) -> None:
    log[window, ADMITTED], log[window, COMPLETED] = admitted, completed
    log[window, EVICTED], log[window, IN_FLIGHT] = evicted, in_flight


@inner
def _evicting(counts: Row, before: int, now: int) -> int:
    """Each iteration after `before`, up to now, evicts."""
    counts[EVICTIONS] += now - before
    if counts[FIRST_EVICTION] == NEVER:
        counts[FIRST_EVICTION] = before + 1
    counts[LAST_FULL] = now
    return now


@inner
def _sums(
    numbers: Row, counts: Row, inputs: float, head: int, tail: int, now: int
) -> tuple[float, float]:
    """Requests and the tokens beyond capacity that they hold, made anew from the labels."""
    mask, requests, held = counts[RING] - 1, 0.0, 0.0
    for label in range(head, tail):
        at = label & mask
        requests += numbers[UNITS + at]
        held += numbers[UNITS + at] * (inputs + (1 + now - counts[BIRTHS + at]))
    counts[TURN] = 0
    return requests, held - numbers[CAPACITY]


@inner
def _trim(
    numbers: Row,
    counts: Row,
    inputs: float,
    tail: int,
    now: int,
    requests: float,
    evicted: float,
    excess: float,
) -> tuple[int, float, float, float, float]:
    """Least progressed first: a label that needs no more than the excess is used up.

    Returns the tail, requests in flight, those evicted; requests of what is now the youngest label,
    and the tokens that each of them holds.
    """
    mask = counts[RING] - 1
    at = (tail - 1) & mask
    units, tokens = numbers[UNITS + at], inputs + (1 + now - counts[BIRTHS + at])
    while excess > 0.0 and units * tokens <= excess:
        excess -= units * tokens
        requests -= units
        evicted += units
        tail -= 1
        at = (tail - 1) & mask
        units, tokens = numbers[UNITS + at], inputs + (1 + now - counts[BIRTHS + at])
    if excess > 0.0:
        cut = excess / tokens
        units -= cut
        numbers[UNITS + at] = units
        requests -= cut
        evicted += cut
    return tail, requests, evicted, units, tokens


@inner
def _write_state(
    numbers: Row,
    counts: Row,
    head: int,
    tail: int,
    now: int,
    left: float,
    states: Row,
    window: int,
) -> None:
    mask = counts[RING] - 1
    if states.shape[0] == 0:
        return
    for stage in range(states.shape[2]):
        states[window, 0, stage] = 0.0
    for label in range(head, tail):
        states[window, 0, now - counts[BIRTHS + (label & mask)]] = numbers[UNITS + (label & mask)]
    states[window, 0, now - counts[BIRTHS + ((tail - 1) & mask)]] = left
