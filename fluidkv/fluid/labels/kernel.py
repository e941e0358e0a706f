"""The mass model seen from its labels, compiled: one trajectory after the other, a scalar loop.

The operations are those of `reference` in their order, so that both agree bit by bit. Masses lie in
a ring by birth: what is left of the label that entered in iteration b is `mass[b & mask]`. So what
completes at an end is one read, whatever the number of labels; and each label is linked to the one
before it, for eviction, which takes the youngest first.

With one end, nothing completes in many iterations, and where the youngest label lasts these are not
made: the requests in flight at any of them are A / w (see `reference`). Then each label is linked
to the one after it too, which says when the next one completes.

What is looked at on the way changes nothing: a trajectory does not depend on what is recorded of
it, nor on where a call ends. `Tables`, `Lanes` and `Windows` say what the arrays are; inside of the
kernel they are those of one system and of one lane.
"""

import math

import numpy as np

from fluidkv.fluid.labels.by_class import complete_classes, trim_started
from fluidkv.fluid.labels.lane import (
    CUT,
    EVICTIONS,
    FIRST_EVICTION,
    LAST_FULL,
    LIVE,
    NEVER,
    NOW,
    OLDER,
    OLDEST,
    ONE_ANEW,
    QUIET,
    REQUESTS,
    SINCE,
    SLACK,
    TOKENS,
    TOTAL,
    YOUNG,
)
from fluidkv.fluid.labels.looks import live_stages, record, sums, write_state
from fluidkv.fluid.labels.tables import ALIVE, CLASSES, ENDS, GAINED, HELD, LEAVING, STAGES
from fluidkv.runs.kernels import inner, kernel


@kernel
def advance_lanes(
    sizes, units, segments, ends, freed, classes, amounts,
    systems, starts, capacities, numbers, counts, masses, links, afters, begun, flows,
    wanted, levels, empty, states, final, until, every,
):  # fmt: skip
    """All lanes to iteration `until`, from where they are, or from their starts.

    Args:
        sizes, ..., amounts: `Tables`.
        systems, starts, capacities: see `engine.advance`.
        numbers, ..., flows: `Lanes`.
        wanted, ..., states: `Windows`, each of `every` iterations, to be filled in.
        final: masses at `until`, (lane, row, stage), to be filled in.
    """
    for i in range(systems.size):
        s = systems[i]
        size, unit, segment, end = sizes[s], units[s], segments[s], ends[s]
        free, kinds, amount = freed[s], classes[s], amounts[s]
        start, number, count, flow = starts[i], numbers[i], counts[i], flows[i]
        mass, link, after, left = masses[i], links[i], afters[i], begun[i]
        level, gaps, state = levels[:, i], empty[i], states[i]
        if count[NOW] == NEVER:
            _lay(size, start, count, mass, link, after)
        one = size[ENDS] == 1 and size[CLASSES] == 0 and unit[0, ALIVE] == 1.0
        if one:  # the same, compiled for one end and units of one request
            _follow(
                one, size, unit, segment, end, free, kinds, amount, start, capacities[i], number,
                count, mass, link, after, left, flow, wanted, level, gaps, state, until, every,
            )  # fmt: skip
        else:
            _follow(
                one, size, unit, segment, end, free, kinds, amount, start, capacities[i], number,
                count, mass, link, after, left, flow, wanted, level, gaps, state, until, every,
            )  # fmt: skip
        write_state(final[i], until, size, kinds, amount, start, mass, left)


@inner
def _lay(sizes, start, counts, mass, link, after):
    """The labels of the start, oldest first."""
    mask, young = mass.size - 1, -sizes[STAGES]
    counts[NOW] = 0
    for stage in range(sizes[STAGES] - 1, -1, -1):
        if sizes[CLASSES] == 0 and start[0, stage] > 0.0:
            if young == -sizes[STAGES]:
                counts[OLDEST] = -stage
            mass[-stage & mask], link[-stage & mask] = start[0, stage], young
            after[young & mask] = -stage
            young = -stage
    counts[YOUNG] = young


@inner
def _follow(
    one, sizes, unit, segment, end, freed, classes, amounts,
    start, capacity, numbers, counts, mass, link, after, begun,
    flows, wanted, levels, empty, states, until, every,
):  # fmt: skip
    """One lane to iteration `until`."""
    ends, kinds, stages, mask = sizes[ENDS], sizes[CLASSES], sizes[STAGES], mass.size - 1
    if one:
        ends, kinds = 1, 0
    now, since, quiet = counts[NOW], counts[SINCE], counts[QUIET]
    young, oldest = counts[YOUNG], counts[OLDEST]
    requests, total, older = numbers[REQUESTS], numbers[TOTAL], numbers[OLDER]
    tokens, growth = numbers[TOKENS], requests  # growth: what execution adds, if none completes
    admitted = completed = evicted = 0.0
    turn = stages * (ONE_ANEW if one else 1)
    anew, window = -(-now // turn) * turn, now // every
    look = (window + 1) * every
    while now < until:
        if now == anew:  # what follows depends on the masses alone, and no sum drifts
            requests, held = sums(
                sizes, unit, classes, amounts, start, mass, link, begun, now, young
            )
            growth, quiet, anew = requests + (held - capacity), now, anew + turn
        stop = min(min(look, anew), until)
        while now < stop:
            if one and now < quiet:
                _evicting(counts, now, min(quiet, stop))
                now, at = min(quiet, stop), np.uint64(young & mask)
                growth = requests = total / (tokens + (now - since))
                evicted += mass[at] - (older + requests)
                mass[at] = older + requests
                continue
            now += 1
            leaving = gained = 0.0
            for j in range(ends):
                units = mass[np.uint64((now - end[j]) & mask)]
                leaving += units * freed[j, LEAVING]
                gained += units * freed[j, GAINED]
            if kinds > 0:
                leaving, gained = complete_classes(
                    sizes, end, classes, amounts, start, mass, begun, flows, now, leaving, gained
                )
            if one and now - stages == oldest:
                oldest = now + stages if oldest == young else after[np.uint64(oldest & mask)]
            mass[np.uint64((now - stages) & mask)] = 0.0
            excess, requests, completed = growth - gained, requests - leaving, completed + leaving
            if excess < 0.0:
                units, at = -excess / unit[0, HELD], np.uint64(now & mask)
                mass[at], link[at] = units, young
                requests += units if one else units * unit[0, ALIVE]
                admitted += units
                if one:
                    after[np.uint64(young & mask)] = now
                    oldest = now if oldest > young else oldest
                young = now
            else:
                before = requests
                young, requests = _trim(
                    one, sizes, unit, segment, classes, amounts, start, counts, mass, link, begun,
                    flows, now, young, requests, excess,
                )  # fmt: skip
                evicted += before - requests
            growth = requests
            if one and oldest + stages - 1 > now:
                since, tokens = now, unit[now - young, HELD]
                total, older = requests * tokens, mass[np.uint64(young & mask)] - requests
                quiet = now + _lasting(total, older, tokens, oldest + stages - 1 - now)
        if now == look:
            record(
                sizes, unit, classes, amounts, start, mass, link, begun, flows, wanted, levels,
                empty, states, now, window, young, requests, admitted, completed, evicted,
            )  # fmt: skip
            admitted = completed = evicted = 0.0
            window, look = window + 1, look + every
    counts[NOW], counts[SINCE], counts[QUIET] = now, since, quiet
    counts[YOUNG], counts[OLDEST] = young, oldest
    counts[LIVE] = live_stages(sizes, classes, start, mass, link, begun, now, young)
    numbers[REQUESTS], numbers[TOTAL] = requests, total
    numbers[OLDER], numbers[TOKENS] = older, tokens


@inner
def _trim(
    one, sizes, unit, segment, classes, amounts, start, counts, mass, link, begun,
    flows, now, young, requests, excess,
):  # fmt: skip
    """Least progressed first: a label that needs no more than the excess is used up.

    Returns:
        The youngest label that is left, requests in flight.
    """
    mask = mass.size - 1
    counts[LAST_FULL] = now
    if excess > 0.0:
        _evicting(counts, now - 1, now)
    while excess > 0.0 and now - young < sizes[STAGES]:
        at, age = np.uint64(young & mask), np.uint64(now - young)
        units = cut = mass[at]
        needed = units * unit[age, HELD]
        if needed - excess > SLACK * needed:
            cut = min(units, excess / unit[age, HELD])
        mass[at] = units - cut
        if not one and sizes[CLASSES] > 0:
            flows[CUT, segment[age]] += cut
        requests -= cut if one else cut * unit[age, ALIVE]
        if cut < units:
            return young, requests
        excess = max(excess - needed, 0.0)
        young = link[at]
    if not one and excess > 0.0 and sizes[CLASSES] > 0:
        requests = trim_started(
            sizes, classes, amounts, start, counts, begun, flows, now, requests, excess
        )
    return young, requests


@inner
def _evicting(counts, before, now):
    """Each iteration after `before`, up to now, evicts."""
    counts[EVICTIONS] += now - before
    counts[LAST_FULL] = now
    if counts[FIRST_EVICTION] == NEVER:
        counts[FIRST_EVICTION] = before + 1


@inner
def _lasting(total, older, tokens, most):
    """The last n, up to `most`, with C + A / (w + n) > 0: it falls with n, in floats too."""
    if older + total / (tokens + most) > 0.0:
        return most
    n = min(max(int(math.ceil(-total / older - tokens)), 1), most)  # noqa: RUF046 (CUDA's is a float)
    while n > 1 and older + total / (tokens + (n - 1)) <= 0.0:
        n -= 1
    while older + total / (tokens + n) > 0.0:
        n += 1
    return n - 1
