"""What the compiled engine keeps of a trajectory, a *lane*: a row of numbers and a row of counts.

    numbers    the names below, then the units of each label, then the flows of each row
    counts     the names below, then the birth of each label, its kind, and for each end the oldest
               label that has not reached it (its head)

Labels lie in a ring whose size is a power of two, the oldest at `counts[HEAD]`, the youngest before
`counts[TAIL]`; both only grow as labels come and go, and are taken modulo the size. The kind of a
label that was admitted is FRESH, that of one of the start is 1 + its stage then.

What is looked at, at the end of a window, is a row of a *log*: the flows (admitted, completed,
evicted) of each row, the requests in flight of each row, empty stages.
"""

from typing import Any, TypeAlias

import numpy as np

from fluidkv.runs.kernels import inner, kernel

Row: TypeAlias = Any
"""A float64 or int64 array inside of a kernel, where what it holds is a plain number."""

NEVER = -1
"""Stands for "not so far" where an iteration is given."""
FRESH = 0

# N, A, C and w of `reference`; requests in a unit of the youngest label, and its units up to which
# evictions are counted.
REQUESTS, TOTAL, OLDER, TOKENS, ALIVE, COUNTED, CAPACITY = range(7)
UNITS = 7

RING, NOW, SINCE, NEXT, HEAD, TAIL, TURN, EVICTIONS, FIRST_EVICTION, LAST_FULL = range(10)
BIRTHS = 10

ADMITTED, COMPLETED, EVICTED, IN_FLIGHT = range(4)
"""Columns of a log, for each row; one more has the empty stages."""
FLOWS = 3
LOGGED = 4


def ring_of(stages: int) -> int:
    """Size of the ring: room for one label more than there are stages."""
    return 1 << int(stages).bit_length()


@kernel
def lay(
    numbers: Row,
    counts: Row,
    ring: int,
    ends: Row,
    start: Row,
    by_class: bool,
    capacity: float,
) -> None:
    """Labels of the start (row, stage), oldest first. Nothing is known yet of memory."""
    numbers[:] = 0.0
    numbers[CAPACITY] = capacity
    counts[:BIRTHS] = 0
    counts[RING], counts[NEXT] = ring, 1
    counts[SINCE] = counts[FIRST_EVICTION] = NEVER
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


@inner
def used_up(total: float, older: float, tokens: float, least: int, most: int) -> int:
    """The first n with C + A / (w + n) <= 0: it falls with n, in floats too."""
    n = min(max(int(np.ceil(-total / older - tokens)), least), most)
    while n > least and older + total / (tokens + (n - 1)) <= 0.0:
        n -= 1
    while older + total / (tokens + n) > 0.0:
        n += 1
    return n
