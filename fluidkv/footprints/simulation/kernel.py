"""The server of `fluidkv.footprints.simulation.reference`, as machine code: one run a call."""

import numpy as np

from fluidkv.footprints.simulation.tables import Rules, Tables
from fluidkv.runs.kernels import inner, kernel


@inner
def _draw(cumulative: np.ndarray, uniform: float) -> int:
    """The first place whose cumulative chance is above the number drawn."""
    low, high = 0, len(cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > uniform:
            high = middle
        else:
            low = middle + 1
    return low


@inner
def _moved(tables: Tables, growth: int, place: int, uniform: float) -> int:
    if place < tables.walk[growth]:
        return place + 1
    return place + 1 + _draw(tables.steps[growth], uniform)


@kernel
def simulated(
    tables: Tables,
    rules: Rules,
    warm: int,
    most: int,
    rng: np.random.Generator,
    record: np.ndarray,
) -> bool:
    """Fill `record` [iteration, column]; False where more than `most` run."""
    growth, place = np.zeros(most, np.int64), np.zeros(most, np.int64)
    waiting = np.zeros(most, np.int64)  # who was evicted; who came first is last
    running, waits = 0, 0
    for iteration in range(-warm, len(record)):
        # execute
        left, used = 0, 0
        for i in range(running):
            kind, at = growth[i], place[i]
            uniform = rng.random() if at >= tables.walk[kind] else 0.0
            at = _moved(tables, kind, at, uniform)
            if at < tables.places[kind]:
                growth[left], place[left] = kind, at
                left += 1
                used += tables.tokens[tables.first[kind] + at]
        running = left
        # arrive
        count = -1
        if iteration < 0:
            k = iteration + warm
            count = int(np.floor(rules.rate * (k + 1)) - np.floor(rules.rate * k))
        elif rules.arrivals >= 0:
            count = rng.poisson(rules.arrivals / rules.batch) * rules.batch
        # evict
        free, evicted = rules.capacity - used, 0
        bounded = iteration >= 0 and rules.capacity >= 0
        while bounded and used > rules.capacity:
            running -= 1
            used -= tables.tokens[tables.first[growth[running]] + place[running]]
            waiting[waits] = growth[running]
            waits += 1
            evicted += 1
        # admit
        admitted = 0
        while count < 0 or admitted < count:
            if iteration >= 0 and (
                running >= rules.most_running or admitted >= rules.most_admitted
            ):
                break
            if running >= most:
                return False
            if waits == 0:
                waiting[0] = _draw(tables.shares, rng.random())
                waits = 1
            kind = waiting[waits - 1]
            tokens = tables.tokens[tables.first[kind]]
            if bounded and used + tokens > rules.capacity - rules.watermark:
                break
            waits -= 1
            growth[running], place[running] = kind, 0
            running += 1
            used += tokens
            admitted += 1
        if iteration >= 0:
            record[iteration, 0] = running
            record[iteration, 1] = admitted
            record[iteration, 2] = evicted
            record[iteration, 3] = used
            record[iteration, 4] = free
    return True
