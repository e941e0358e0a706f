"""One trajectory of one class, compiled: from one change to the next.

The operations are those of `reference.Positions` in their order, so that both agree bit by bit,
with one difference: where nothing completes and the youngest label lasts, the iterations between
are not made, since the requests in flight at any of them are A / w. So time goes from one
completion, or end of a label, to the next. What is asked for in between is computed where it is
asked for and changes nothing: a trajectory does not depend on what is recorded of it.

`mixed` does the same for any number of ends; here a unit is a request, and all fits in registers.
"""

import numpy as np

from fluidkv.fluid.positions.lane import (
    ADMITTED,
    ALIVE,
    BIRTHS,
    CAPACITY,
    COMPLETED,
    COUNTED,
    EVICTED,
    HEAD,
    LAST_FULL,
    NEVER,
    NEXT,
    NOW,
    OLDER,
    REQUESTS,
    SINCE,
    TAIL,
    TOKENS,
    TOTAL,
    TURN,
    UNITS,
    emptied,
    evicting,
    used_up,
)
from fluidkv.runs.kernels import kernel


@kernel
def lay(numbers: np.ndarray, counts: np.ndarray, start: np.ndarray, stages: int) -> None:
    """Labels of the start (row, stage), oldest first."""
    tail = 0
    for stage in range(stages - 1, -1, -1):
        if start[0, stage] > 0.0:
            counts[BIRTHS + tail], numbers[UNITS + tail] = -stage, start[0, stage]
            tail += 1
    counts[TAIL] = counts[TURN] = tail


@kernel
def follow(
    numbers: np.ndarray,
    counts: np.ndarray,
    reached: np.ndarray,
    inputs: float,
    stages: int,
    until: int,
    least: int,
) -> None:
    """To iteration `until`, or to where no more than `least` labels are left.

    Args:
        numbers, counts: a lane.
        reached: first iteration with so many empty stages; may have no elements.
        inputs: l0.
        stages: l1.
    """
    now, since, following = counts[NOW], counts[SINCE], counts[NEXT]
    head, tail, mask = counts[HEAD], counts[TAIL], numbers.size - UNITS - 1
    requests, total = numbers[REQUESTS], numbers[TOTAL]
    older, tokens = numbers[OLDER], numbers[TOKENS]
    while now < until and tail - head > least:
        if following > now + 1:
            last = min(following - 1, until)
            if older + total / (tokens + (last - since)) > 0.0:
                evicting(counts, now, last)
                now = last
                continue
            n = since + used_up(total, older, tokens, now + 1 - since, last - since)
            evicting(counts, now, n)
            now = n
            before = total / (tokens + (n - 1 - since))
            excess = before - (older + before) * (tokens + (n - since))
            requests = -older
            numbers[EVICTED] += numbers[COUNTED]
            tail -= 1
        else:
            if now > since and since != NEVER:
                requests = total / (tokens + (now - since))
                left = older + requests
                numbers[EVICTED] += numbers[COUNTED] - left
                numbers[UNITS + ((tail - 1) & mask)] = left
            now += 1
            excess = requests
            if head < tail and counts[BIRTHS + (head & mask)] + stages == now:
                units = numbers[UNITS + (head & mask)]
                requests -= units
                excess = requests - (inputs + stages) * units
                numbers[COMPLETED] += units
                head += 1
            counts[TURN] += 1
            if tail == head or counts[TURN] > tail - head:
                counts[TURN] = 0
                requests, held = _sums(numbers, counts, inputs, head, tail, now)
                excess = held - numbers[CAPACITY]
            if excess > 0.0:
                evicting(counts, now - 1, now)
            elif excess < 0.0:
                units = -excess / (inputs + 1.0)
                counts[BIRTHS + (tail & mask)], numbers[UNITS + (tail & mask)] = now, units
                requests += units
                numbers[ADMITTED] += units
                tail += 1
            else:
                counts[LAST_FULL] = now
        tail, requests, tokens = _trim(numbers, counts, inputs, head, tail, now, requests, excess)
        units = numbers[UNITS + ((tail - 1) & mask)]
        if tail - head == 1:
            requests = units
        total, older, since = requests * tokens, units - requests, now
        numbers[COUNTED] = units
        following = counts[BIRTHS + (head & mask)] + stages
        emptied(counts, reached, stages - (tail - head), now)
    counts[NOW], counts[SINCE], counts[NEXT] = now, since, following
    counts[HEAD], counts[TAIL] = head, tail
    numbers[REQUESTS], numbers[TOTAL] = requests, total
    numbers[OLDER], numbers[TOKENS], numbers[ALIVE] = older, tokens, 1.0


@kernel
def _sums(
    numbers: np.ndarray, counts: np.ndarray, inputs: float, head: int, tail: int, now: int
) -> tuple[float, float]:
    """Requests and the tokens that they hold, made anew from the labels."""
    mask, requests, held = numbers.size - UNITS - 1, 0.0, 0.0
    for label in range(head, tail):
        units = numbers[UNITS + (label & mask)]
        requests += units
        held += units * (inputs + (1 + now - counts[BIRTHS + (label & mask)]))
    return requests, held


@kernel
def _trim(
    numbers: np.ndarray,
    counts: np.ndarray,
    inputs: float,
    head: int,
    tail: int,
    now: int,
    requests: float,
    excess: float,
) -> tuple[int, float, float]:
    """Least progressed first: a label that needs no more than the excess is used up.

    Returns the tail, requests in flight, and the tokens of a request of what is now the youngest.
    """
    mask = numbers.size - UNITS - 1
    while True:
        at = (tail - 1) & mask
        units, tokens = numbers[UNITS + at], inputs + (1 + now - counts[BIRTHS + at])
        if not excess > 0.0:
            return tail, requests, tokens
        needed = units * tokens
        if needed > excess or tail - head == 1:
            cut = excess / tokens
            numbers[UNITS + at] = units - cut
            numbers[EVICTED] += cut
            return tail, requests - cut, tokens
        numbers[EVICTED] += units
        requests -= units
        excess -= needed
        tail -= 1
