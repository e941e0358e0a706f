"""The server of `fluidkv.footprints.simulation.reference`, as machine code: one run a call.

What an admitted request holds until it leaves is added to the sums of the iterations to come, so
that an iteration costs what is admitted in it, however many requests run.
"""

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
def _drawn_in_order(
    batch: np.ndarray, shares: np.ndarray, alike: np.ndarray, rng: np.random.Generator
) -> int:
    """The growth of the next request; `batch` has it, and how many more of it come in a row."""
    if batch[1] == 0:
        batch[0], batch[1] = _draw(shares, rng.random()), 1
        if len(alike) > 1:
            batch[1] += _draw(alike, rng.random())
    batch[1] -= 1
    return batch[0]


@inner
def _closed_up(
    growth: np.ndarray, since: np.ndarray, until: np.ndarray, paths: np.ndarray, now: int
) -> int:
    """Those who have left go from the order of admission; how many are there."""
    top = 0
    for i in range(len(until)):
        if until[i] > now:
            growth[top], since[top], until[top] = growth[i], since[i], until[i]
            for age in range(until[i] - since[i]):
                paths[top, age] = paths[i, age]
            top += 1
    return top


@kernel
def _with_room(
    order: np.ndarray, paths: np.ndarray, now: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Both closed up, for twice as many where that leaves too little room; and their number."""
    top, room = _closed_up(order[0], order[1], order[2], paths, now), len(paths)
    if 2 * top <= room:  # else they would be closed up again and again
        return order, paths, top
    wider = np.zeros((3, 2 * room), np.int64)
    longer = np.empty((2 * room, paths.shape[1]), np.int64)
    wider[:, :top], longer[:top] = order[:, :top], paths[:top]
    return wider, longer, top


@kernel
def simulated(
    tables: Tables,
    rules: Rules,
    warm: int,
    most: int,
    rng: np.random.Generator,
    record: np.ndarray,
) -> bool:
    """Fill `record` [iteration, column] after `warm` of them; False where more than `most` run."""
    tokens, first, places, walk, steps, shares = tables
    last = warm + len(record)
    held, leaving = np.zeros(last + warm + 1, np.int64), np.zeros(last + warm + 1, np.int64)
    # in order of admission: those that have left stay until there is no room for another
    order = np.zeros((3, 64), np.int64)
    growth, since, until = order[0], order[1], order[2]
    paths = np.empty((64, warm), np.int64)  # what is held
    waiting = np.zeros(most + 1, np.int64)  # growths of the evicted; first come last
    top, running, waits, batch = 0, 0, 0, np.zeros(2, np.int64)
    for now in range(last):
        recorded = now >= warm
        # execute
        running -= leaving[now]
        used = held[now]
        # arrive
        count = -1
        if not recorded:
            count = int(np.floor(rules.rate * (now + 1)) - np.floor(rules.rate * now))
        elif rules.arrivals >= 0:
            count = rng.poisson(rules.arrivals / rules.batch) * rules.batch
        # evict
        free, evicted = rules.capacity - used, 0
        bounded = recorded and rules.capacity >= 0
        while bounded and used > rules.capacity:
            top -= 1
            if until[top] <= now:
                continue
            for then in range(now, until[top]):
                held[then] -= paths[top, then - since[top]]
            used = held[now]
            leaving[until[top]] -= 1
            running -= 1
            waiting[waits] = growth[top]
            waits += 1
            evicted += 1
        # admit
        admitted = 0
        while count < 0 or admitted < count:
            if recorded and (running >= rules.most_running or admitted >= rules.most_admitted):
                break
            if running >= most:
                return False
            if waits == 0:
                waiting[0] = _drawn_in_order(batch, shares, rules.alike, rng)
                waits = 1
            kind = waiting[waits - 1]
            start, place, end = first[kind], walk[kind], places[kind]
            if bounded and used + tokens[start] > rules.capacity - rules.watermark:
                break
            if top == len(until):
                order, paths, top = _with_room(order, paths, now)
                growth, since, until = order[0], order[1], order[2]
            for age in range(place):
                held[now + age] += tokens[start + age]
                paths[top, age] = tokens[start + age]
            life = place
            while place < end:
                held[now + life] += tokens[start + place]
                paths[top, life] = tokens[start + place]
                life += 1
                place += 1 + _draw(steps[kind], rng.random())
            growth[top], since[top], until[top] = kind, now, now + life
            leaving[now + life] += 1
            top += 1
            waits -= 1
            running += 1
            used += tokens[start]
            admitted += 1
        if recorded:
            record[now - warm] = (running, admitted, evicted, used, free)
    return True
