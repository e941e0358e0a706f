"""The kernel's loop where requests have several decode lengths: every iteration is made.

Memory is full after each iteration, so it need not be summed: requests in flight are kept as a
running sum, which says how much the next execution adds. What completes at an end is one read of
the ring of labels.

All that is admitted has the classes in the shares p_k. Labels of a start off the manifold have a
mix of their own at each stage, requests x_ks of each class; `begun[s]` is what eviction has left,
of 1, of those that were at stage s. They are older than all that is admitted, so they are the last
to be evicted, and have gone after d iterations.
"""

import numpy as np

from fluidkv.fluid.labels import lane as col
from fluidkv.fluid.labels.tables import ALIVE, BY_CLASS, FREED, HELD, PARTS, SHARE, STAGES
from fluidkv.fluid.labels.windows import live_labels, record_classes, record_units, sums
from fluidkv.runs.kernels import inner


@inner
def follow_several_ends(table, lane, windows, until, every):
    """One lane to iteration `until`."""
    unit, stages, mask = table.unit, table.sizes[STAGES], lane.mass.size - 1
    numbers, counts, mass, link = lane.numbers, lane.counts, lane.mass, lane.link
    now, young, requests = counts[col.NOW], counts[col.YOUNG], numbers[col.IN_FLIGHT]
    admitted, completed, evicted = (
        numbers[col.ADMITTED],
        numbers[col.COMPLETED],
        numbers[col.EVICTED],
    )
    growth, zero = requests, 0 * lane.capacity  # growth: what execution adds, if none completes
    anew, window = -(-now // stages) * stages, now // every
    look = (window + 1) * every
    while now < until:
        if now == anew:  # what follows depends on the masses alone, and no sum drifts
            requests, held = sums(table, lane, now, young)
            growth, anew = requests + (held - lane.capacity), anew + stages
        stop = min(min(look, anew), until)
        while now < stop:
            now += 1
            leaving, gained = _complete(table, lane, now, zero)
            mass[np.uint64((now - stages) & mask)] = zero
            excess, requests, completed = growth - gained, requests - leaving, completed + leaving
            if excess < 0.0:
                units, at = -excess / unit[0, HELD], np.uint64(now & mask)
                mass[at], link[at] = units, young
                requests += units * unit[0, ALIVE]
                admitted += units * unit[0, ALIVE]
                young = now
            else:
                before = requests
                young, requests = _trim(table, lane, now, young, requests, excess)
                evicted += before - requests
            growth = requests
        if now == look:
            if table.sizes[BY_CLASS] > 0:
                record_classes(table, lane, windows, now, window, young, admitted)
            else:
                live = 0
                if windows.empty_stages.size > 0:
                    live = live_labels(table, lane, now, young)
                flows = admitted, completed, evicted, requests
                record_units(table, lane, windows, now, window, live, flows)
            admitted, completed, evicted = zero, zero, zero
            window, look = window + 1, look + every
    counts[col.NOW], counts[col.YOUNG], numbers[col.IN_FLIGHT] = now, young, requests
    numbers[col.ADMITTED], numbers[col.COMPLETED], numbers[col.EVICTED] = (
        admitted,
        completed,
        evicted,
    )


@inner
def _complete(table, lane, now, zero):
    """Requests that complete, and the tokens by which memory is then smaller."""
    mask, by_class = lane.mass.size - 1, table.sizes[BY_CLASS] > 0
    leaving, gained = zero, zero
    for j in range(table.sizes[PARTS]):
        stage = table.decode[j] - now  # where they were at the start
        if by_class and stage >= 0:
            requests = lane.begun[stage] * lane.start[j, stage]
        else:
            requests = lane.mass[np.uint64(-stage & mask)] * table.parts[j, SHARE]
        leaving += requests
        gained += requests * table.parts[j, FREED]
        if by_class:
            lane.flows[col.DONE, j] += requests
    return leaving, gained


@inner
def _trim(table, lane, now, young, requests, excess):
    """Least progressed first: a label that needs no more than the excess is used up.

    Returns:
        The youngest label that is left, requests in flight.
    """
    unit, mass, mask, counts = table.unit, lane.mass, lane.mass.size - 1, lane.counts
    counts[col.LAST_FULL] = now
    if excess > 0.0:
        counts[col.EVICTIONS] += 1
        if counts[col.FIRST_EVICTION] == col.NEVER:
            counts[col.FIRST_EVICTION] = now
    while excess > 0.0 and now - young < table.sizes[STAGES]:
        at, age = np.uint64(young & mask), np.uint64(now - young)
        units = cut = mass[at]
        needed = units * unit[age, HELD]
        if needed - excess > col.SLACK * needed:
            cut = min(units, excess / unit[age, HELD])
        mass[at] = units - cut
        requests -= cut * unit[age, ALIVE]
        if table.sizes[BY_CLASS] > 0:
            for c in range(table.sizes[PARTS]):
                if now - young < table.decode[c]:
                    lane.flows[col.CUT, c] += table.parts[c, SHARE] * cut
        if cut < units:
            return young, requests
        excess = excess - min(excess, needed)
        young = lane.link[at]
    if excess > 0.0 and table.sizes[BY_CLASS] > 0:
        requests = _trim_started(table, lane, now, requests, excess)
    return young, requests


@inner
def _trim_started(table, lane, now, requests, excess):
    """As `_trim`, of labels of the start; requests in flight."""
    decode, start, counts, begun = table.decode, lane.start, lane.counts, lane.begun
    while excess > 0.0 and counts[col.STARTED] + now < table.sizes[STAGES]:
        stage = counts[col.STARTED]
        alive, tokens = 0 * excess, 0 * excess
        for c in range(table.sizes[PARTS]):
            if decode[c] > stage + now:
                alive += start[c, stage]
                tokens += start[c, stage] * (table.parts[c, FREED] - (decode[c] - (stage + now)))
        needed, cut = begun[stage] * tokens, begun[stage]
        if needed - excess > col.SLACK * needed:
            cut = min(cut, excess / tokens)
        begun[stage] -= cut
        requests -= cut * alive
        for c in range(table.sizes[PARTS]):
            if decode[c] > stage + now:
                lane.flows[col.CUT, c] += cut * start[c, stage]
        if begun[stage] > 0.0:
            return requests
        excess = excess - min(excess, needed)
        counts[col.STARTED] += 1
    return requests
