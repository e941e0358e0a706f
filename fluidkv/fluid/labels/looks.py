"""Looks at a lane where it is: whether it goes on."""

import math

from fluidkv.fluid.labels import lane as col
from fluidkv.fluid.labels.tables import STAGES
from fluidkv.runs.kernels import inner


@inner
def look(table, lane, looks, i):
    """What a look at lane i finds, which is one every so many iterations; see `Looks`."""
    counts, mass, stages, system = lane.counts, lane.mass, table.sizes[STAGES], lane.system
    now, mask = counts[col.NOW], lane.mass.size - 1
    if looks.reached.size > 0 and counts[col.LIVE] == 1:
        return col.ALONE
    if _is_free(lane, looks, stages):
        return col.FREE
    age = 0
    while age < stages:
        if not abs(mass[(now - age) & mask] - looks.mark[i, age]) <= looks.within[system, age]:
            break
        age += 1
    if age == stages:
        return col.BACK
    made, moves = now // looks.every[system], looks.moves[0]
    if made % moves == 0 if moves > 0 else made & (made - 1) == 0:
        counts[col.MARKED] = now
        for age in range(stages):
            looks.mark[i, age] = mass[(now - age) & mask]
    return col.GOES_ON


@inner
def _is_free(lane, looks, stages):
    """Whether no eviction can come any more; see `eviction_free`."""
    now, mass, mask = lane.counts[col.NOW], lane.mass, lane.mass.size - 1
    rule, best = looks.rule[lane.system], looks.best[lane.system]
    limit = looks.limit[rule]
    # The youngest cohort is in the cube, and deviates by the sum of the parts of all modes.
    free, age = abs(mass[now & mask] / best - 1.0) <= limit, 1
    if looks.terms[rule] == 0:
        while free and age < stages:
            free = abs(mass[(now - age) & mask] / best - 1.0) <= limit
            age += 1
        return free
    mode, total = 0, 0.0
    while free and mode < looks.terms[rule]:
        real = imaginary = 0.0
        for age in range(stages):
            deviation = mass[(now - age) & mask] / best - 1.0
            real += looks.modes[rule, mode, 0, age] * deviation
            imaginary += looks.modes[rule, mode, 1, age] * deviation
        total += math.sqrt(real * real + imaginary * imaginary)
        free = total <= limit
        mode += 1
    return free
