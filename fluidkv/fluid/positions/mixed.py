"""One trajectory of any number of classes, compiled: from one change to the next, as in `single`.

Requests of a label complete at several ends, those of its classes, so there is a head for each end.
What a unit of a label holds and loses depends on its kind: labels that were admitted have the
proportions of admission, those of the start what the start has (`Kinds`).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.fluid.positions.lane import (
    ALIVE,
    BIRTHS,
    CAPACITY,
    COUNTED,
    FRESH,
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
    in_flight,
    used_up,
    youngest,
)
from fluidkv.runs.kernels import kernel

IN, OUT, LOST = range(3)
"""Rows of what went in and out: admitted, completed, evicted."""

HELD, INPUTS, LEAVING, FREED = range(4)
"""Of one unit: requests and their input tokens between two ends; requests and tokens that leave."""


class Kinds(NamedTuple):
    """What a unit of a label is made of: kind 0 was admitted, kind 1 + s at stage s of the start.

    Fields:
        ends: decode lengths, increasing.
        units: the four numbers above.
        masses: of each class, those that end earlier first; none where one row stands for all.
        rows: of each class, its row in a state.
        ended_from: of each end, the first of its classes; one more at the end.
    """

    ends: Int[np.ndarray, " end"]
    units: Float[np.ndarray, "kind end number"]
    masses: Float[np.ndarray, "kind class"]
    rows: Int[np.ndarray, " class"]
    ended_from: Int[np.ndarray, " end+1"]


@kernel
def lay(
    numbers: np.ndarray, counts: np.ndarray, start: np.ndarray, ends: np.ndarray, by_class: bool
) -> None:
    """Labels of the start (row, stage), oldest first."""
    ring = numbers.size - UNITS
    tail, j = 0, ends.size - 1
    for stage in range(ends[-1] - 1, -1, -1):
        if j >= 0 and ends[j] == stage + 1:
            counts[BIRTHS + 2 * ring + j] = tail
            j -= 1
        units, kind = start[0, stage], FRESH
        if by_class:
            kind = 1 + stage
            for row in range(1, start.shape[0]):
                units = max(units, start[row, stage])
            units = 1.0 if units > 0.0 else 0.0
        if units > 0.0:
            counts[BIRTHS + tail], counts[BIRTHS + ring + tail] = -stage, kind
            numbers[UNITS + tail] = units
            tail += 1
    counts[TAIL] = counts[TURN] = tail


@kernel
def follow(
    numbers: np.ndarray,
    counts: np.ndarray,
    reached: np.ndarray,
    flows: np.ndarray,
    kinds: Kinds,
    until: int,
    least: int,
) -> None:
    """To iteration `until`, or to where no more than `least` labels are left.

    Args:
        numbers, counts: a lane.
        reached: first iteration with so many empty stages; may have no elements.
        flows: (flow, row), requests that went in and out; added to.
        kinds: what units are made of.
    """
    while counts[NOW] < until and counts[TAIL] - counts[HEAD] > least:
        now, since = counts[NOW], counts[SINCE]
        excess = 0.0
        if counts[NEXT] > now + 1:
            last = min(counts[NEXT] - 1, until)
            total, older, tokens = numbers[TOTAL], numbers[OLDER], numbers[TOKENS]
            if older + total / (tokens + (last - since)) > 0.0:
                evicting(counts, now, last)
                counts[NOW] = last
                continue
            n = since + used_up(total, older, tokens, now + 1 - since, last - since)
            evicting(counts, now, n)
            counts[NOW] = n
            before = total / (tokens + (n - 1 - since))
            excess = before - (older + before) * (tokens + (n - since))
            numbers[REQUESTS] = -older
            _lose(numbers, counts, flows, kinds, numbers[COUNTED])
            _drop(numbers, counts, kinds.ends.size)
        else:
            if now > since and since != NEVER:
                count_up(numbers, counts, flows, kinds)
                numbers[REQUESTS] = in_flight(numbers, counts)
            counts[NOW] = now + 1
            excess = _excess(numbers, counts, flows, kinds)
            if excess > 0.0:
                evicting(counts, now, now + 1)
            elif excess < 0.0:
                _admit(numbers, counts, flows, kinds, -excess)
            else:
                counts[LAST_FULL] = now + 1
        if excess > 0.0:
            _trim(numbers, counts, flows, kinds, excess)
        _settle(numbers, counts, kinds)
        empty = kinds.ends[-1] - (counts[TAIL] - counts[HEAD])
        emptied(counts, reached, empty, counts[NOW])


@kernel
def count_up(numbers: np.ndarray, counts: np.ndarray, flows: np.ndarray, kinds: Kinds) -> None:
    """Counts what the youngest label has lost so far."""
    left = youngest(numbers, counts)
    if counts[NOW] > counts[SINCE]:
        _lose(numbers, counts, flows, kinds, numbers[COUNTED] - left)
    numbers[COUNTED] = left
    numbers[UNITS + ((counts[TAIL] - 1) & (numbers.size - UNITS - 1))] = left


@kernel
def holds(kinds: Kinds, kind: int, age: int) -> tuple[float, float]:
    """Requests of a unit at this age, and the tokens that they hold."""
    j = 0
    while kinds.ends[j] <= age:
        j += 1
    alive = kinds.units[kind, j, HELD]
    return alive, kinds.units[kind, j, INPUTS] + (1 + age) * alive


@kernel
def _excess(numbers: np.ndarray, counts: np.ndarray, flows: np.ndarray, kinds: Kinds) -> float:
    """What completes leaves; tokens by which execution then exceeds memory."""
    ring, now, tail = numbers.size - UNITS, counts[NOW], counts[TAIL]
    requests, freed = numbers[REQUESTS], 0.0
    for j in range(kinds.ends.size):
        head = counts[BIRTHS + 2 * ring + j]
        at = head & (ring - 1)
        if head < tail and counts[BIRTHS + at] + kinds.ends[j] == now:
            counts[BIRTHS + 2 * ring + j] = head + 1
            units, kind = numbers[UNITS + at], counts[BIRTHS + ring + at]
            requests -= units * kinds.units[kind, j, LEAVING]
            freed += units * kinds.units[kind, j, FREED]
            _flow(flows, OUT, kinds, kind, j, j + 1, units)
    counts[HEAD] = counts[BIRTHS + 2 * ring + kinds.ends.size - 1]
    counts[TURN] += 1
    excess = requests - freed
    if counts[HEAD] == tail or counts[TURN] > tail - counts[HEAD]:
        counts[TURN] = 0
        requests, held = 0.0, 0.0
        for label in range(counts[HEAD], tail):
            at = label & (ring - 1)
            alive, tokens = holds(kinds, counts[BIRTHS + ring + at], now - counts[BIRTHS + at])
            requests += numbers[UNITS + at] * alive
            held += numbers[UNITS + at] * tokens
        excess = held - numbers[CAPACITY]
    numbers[REQUESTS] = requests
    return excess


@kernel
def _trim(
    numbers: np.ndarray, counts: np.ndarray, flows: np.ndarray, kinds: Kinds, excess: float
) -> None:
    """Least progressed first: a label that needs no more than the excess is used up."""
    ring = numbers.size - UNITS
    while True:
        at = (counts[TAIL] - 1) & (ring - 1)
        age = counts[NOW] - counts[BIRTHS + at]
        alive, tokens = holds(kinds, counts[BIRTHS + ring + at], age)
        units = numbers[UNITS + at]
        needed = units * tokens
        if needed > excess or counts[TAIL] - counts[HEAD] == 1:
            cut = excess / tokens
            numbers[UNITS + at] = units - cut
            numbers[REQUESTS] -= cut * alive
            _lose(numbers, counts, flows, kinds, cut)
            return
        numbers[REQUESTS] -= units * alive
        _lose(numbers, counts, flows, kinds, units)
        excess -= needed
        _drop(numbers, counts, kinds.ends.size)


@kernel
def _admit(
    numbers: np.ndarray, counts: np.ndarray, flows: np.ndarray, kinds: Kinds, free: float
) -> None:
    ring = numbers.size - UNITS
    at = counts[TAIL] & (ring - 1)
    alive, tokens = holds(kinds, FRESH, 0)
    units = free / tokens
    counts[BIRTHS + at], counts[BIRTHS + ring + at] = counts[NOW], FRESH
    numbers[UNITS + at] = units
    numbers[REQUESTS] += units * alive
    counts[TAIL] += 1
    _flow(flows, IN, kinds, FRESH, 0, kinds.ends.size, units)


@kernel
def _settle(numbers: np.ndarray, counts: np.ndarray, kinds: Kinds) -> None:
    """Memory is full: what holds until something completes or the youngest is used up."""
    ring = numbers.size - UNITS
    while True:
        at = (counts[TAIL] - 1) & (ring - 1)
        age = counts[NOW] - counts[BIRTHS + at]
        alive, tokens = holds(kinds, counts[BIRTHS + ring + at], age)
        if alive > 0.0:
            break
        # All its requests have completed; of the longer classes there were none.
        _drop(numbers, counts, kinds.ends.size)
    own = numbers[UNITS + at] * alive
    if counts[TAIL] - counts[HEAD] == 1:
        numbers[REQUESTS] = own
    each = tokens / alive
    numbers[TOTAL] = numbers[REQUESTS] * each
    numbers[OLDER] = own - numbers[REQUESTS]
    numbers[TOKENS], numbers[ALIVE] = each, alive
    numbers[COUNTED] = numbers[UNITS + at]
    counts[SINCE] = counts[NOW]
    following = counts[NOW] + kinds.ends[-1]
    for j in range(kinds.ends.size):
        head = counts[BIRTHS + 2 * ring + j]
        if head < counts[TAIL]:
            end = counts[BIRTHS + (head & (ring - 1))] + kinds.ends[j]
            following = min(following, end)
    counts[NEXT] = following


@kernel
def _drop(numbers: np.ndarray, counts: np.ndarray, ends: int) -> None:
    """The youngest label is used up."""
    tail, first = counts[TAIL] - 1, BIRTHS + 2 * (numbers.size - UNITS)
    counts[TAIL] = tail
    for j in range(first, first + ends):
        if counts[j] <= tail:
            return
        counts[j] = tail


@kernel
def _lose(
    numbers: np.ndarray, counts: np.ndarray, flows: np.ndarray, kinds: Kinds, units: float
) -> None:
    """So many units of the youngest label are evicted."""
    ring = numbers.size - UNITS
    at = (counts[TAIL] - 1) & (ring - 1)
    age, j = counts[NOW] - counts[BIRTHS + at], 0
    while kinds.ends[j] <= age:
        j += 1
    _flow(flows, LOST, kinds, counts[BIRTHS + ring + at], j, kinds.ends.size, units)


@kernel
def _flow(
    flows: np.ndarray, which: int, kinds: Kinds, kind: int, first: int, after: int, units: float
) -> None:
    """Adds the requests of so many units that end at the ends from `first` to before `after`."""
    if kinds.rows.size > 0:
        for k in range(kinds.ended_from[first], kinds.ended_from[after]):
            flows[which, kinds.rows[k]] += units * kinds.masses[kind, k]
    elif after == kinds.ends.size:
        flows[which, 0] += units * kinds.units[kind, first, HELD]
    else:  # one end
        flows[which, 0] += units * kinds.units[kind, first, LEAVING]
