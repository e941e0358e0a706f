"""What the compiled engine keeps of a trajectory, a *lane*: a row of numbers and a row of counts.

    numbers    the names below, then the units of each label
    counts     the names below, then the birth of each label, its kind, and for each end the oldest
               label that has not reached it (its head)

Labels lie in a ring whose size is a power of two, the oldest at `count[HEAD]`, the youngest before
`count[TAIL]`; both only grow as labels come and go, and are taken modulo the size. The kind of a
label that was admitted is FRESH, that of one of the start is 1 + its stage then.
"""

import numpy as np

from fluidkv.runs.kernels import kernel

NEVER = -1
"""Stands for "not so far" where an iteration is given."""
FRESH = 0

# N, A, C and w of `reference`; requests in a unit of the youngest label; its units up to which
# evictions are counted; and what went in and out since it was last read.
REQUESTS, TOTAL, OLDER, TOKENS, ALIVE, COUNTED, CAPACITY, ADMITTED, COMPLETED, EVICTED = range(10)
UNITS = 10

NOW, SINCE, NEXT, HEAD, TAIL, TURN, EMPTY, EVICTIONS, FIRST_EVICTION, LAST_FULL = range(10)
BIRTHS = 10


def ring_of(stages: int) -> int:
    """Size of the ring: room for one label more than there are stages."""
    return 1 << int(stages).bit_length()


@kernel
def begin(numbers: np.ndarray, counts: np.ndarray, capacity: float) -> None:
    """Nothing is known yet of memory: the first iteration is a change of any kind."""
    numbers[:UNITS] = 0.0
    numbers[CAPACITY] = capacity
    counts[:BIRTHS] = 0
    counts[SINCE] = NEVER
    counts[NEXT] = 1
    counts[FIRST_EVICTION] = NEVER


@kernel
def in_flight(numbers: np.ndarray, counts: np.ndarray) -> float:
    """N where the lane is."""
    gone = counts[NOW] - counts[SINCE]
    if gone == 0:
        return numbers[REQUESTS]
    return numbers[TOTAL] / (numbers[TOKENS] + gone)


@kernel
def youngest(numbers: np.ndarray, counts: np.ndarray) -> float:
    """Units of the youngest label where the lane is."""
    if counts[NOW] == counts[SINCE]:
        return numbers[COUNTED]
    return (numbers[OLDER] + in_flight(numbers, counts)) / numbers[ALIVE]


@kernel
def used_up(total: float, older: float, tokens: float, least: int, most: int) -> int:
    """The first n with C + A / (w + n) <= 0: it falls with n, in floats too."""
    n = min(max(int(np.ceil(-total / older - tokens)), least), most)
    while n > least and older + total / (tokens + (n - 1)) <= 0.0:
        n -= 1
    while older + total / (tokens + n) > 0.0:
        n += 1
    return n


@kernel
def evicting(counts: np.ndarray, before: int, now: int) -> None:
    """Each iteration after `before`, up to now, evicts."""
    counts[EVICTIONS] += now - before
    if counts[FIRST_EVICTION] == NEVER:
        counts[FIRST_EVICTION] = before + 1
    counts[LAST_FULL] = now


@kernel
def emptied(counts: np.ndarray, reached: np.ndarray, empty: int, now: int) -> None:
    """So many stages are empty; notes the first time of a number."""
    for level in range(counts[EMPTY] + 1, min(empty + 1, reached.size)):
        reached[level] = now
    counts[EMPTY] = max(counts[EMPTY], empty)
