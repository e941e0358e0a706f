"""What the kernel does class by class: where a state has a row for each.

All that is admitted has the classes in the shares p_k, so it is enough to count its units at each
end. Labels of a start off the manifold have a mix of their own at each stage, requests x_ks of each
class; `begun[s]` is what eviction has left, of 1, of those that were at stage s. They are older
than all that is admitted, so they are the last to be evicted, and have gone after d iterations.
"""

import numpy as np

from fluidkv.fluid.labels.lane import (
    ADMITTED,
    COMPLETED,
    CUT,
    DONE,
    EVICTED,
    IN_FLIGHT,
    NEVER,
    SLACK,
    STARTED,
    STARTED_CUT,
    STARTED_DONE,
)
from fluidkv.fluid.labels.tables import CLASSES, DECODE, ENDS, INPUTS, PLACE, ROW, SHARE, STAGES
from fluidkv.runs.kernels import inner


@inner
def complete_classes(sizes, end, classes, amounts, start, mass, begun, flows, now, leaving, gained):
    """Counts what completes; `leaving` and `gained` (see `Tables`) with that of the start."""
    mask = mass.size - 1
    for j in range(sizes[ENDS]):
        flows[DONE, j] += mass[np.uint64((now - end[j]) & mask)]
    for c in range(sizes[CLASSES]):
        stage, row = classes[c, DECODE] - now, classes[c, ROW]
        if stage >= 0:
            requests = begun[stage] * start[row, stage]
            leaving += requests
            gained += requests * (amounts[c, INPUTS] + (classes[c, DECODE] + 1))
            flows[STARTED_DONE, row] += requests
    return leaving, gained


@inner
def sum_started(sizes, classes, amounts, start, begun, now):
    """Requests of the start that are left, and the tokens that they hold."""
    requests, held = 0.0, 0.0
    for c in range(sizes[CLASSES]):
        for age in range(now, classes[c, DECODE]):
            units = begun[age - now] * start[classes[c, ROW], age - now]
            requests += units
            held += units * (amounts[c, INPUTS] + (1 + age))
    return requests, held


@inner
def trim_started(sizes, classes, amounts, start, counts, begun, flows, now, requests, excess):
    """As `kernel._trim`, of labels of the start; requests in flight."""
    while excess > 0.0 and counts[STARTED] + now < sizes[STAGES]:
        stage = counts[STARTED]
        alive, tokens = 0.0, 0.0
        for c in range(sizes[CLASSES]):
            if classes[c, DECODE] > stage + now:
                mass = start[classes[c, ROW], stage]
                alive += mass
                tokens += mass * (amounts[c, INPUTS] + (1 + stage + now))
        needed, cut = begun[stage] * tokens, begun[stage]
        if needed - excess > SLACK * needed:
            cut = min(cut, excess / tokens)
        begun[stage] -= cut
        requests -= cut * alive
        for c in range(sizes[CLASSES]):
            if classes[c, DECODE] > stage + now:
                flows[STARTED_CUT, classes[c, ROW]] += cut * start[classes[c, ROW], stage]
        if begun[stage] > 0.0:
            return requests
        excess = max(excess - needed, 0.0)
        counts[STARTED] += 1
    return requests


@inner
def count_started(sizes, classes, start, begun, now):
    """Stages where the start has left something."""
    live = 0
    for stage in range(sizes[STAGES] - now):
        left = 0.0
        for c in range(sizes[CLASSES]):
            if classes[c, DECODE] > stage + now:
                left += begun[stage] * start[classes[c, ROW], stage]
        live += left > 0.0
    return live


@inner
def record_classes(
    sizes, classes, amounts, start, mass, begun, flows, wanted, levels, now, window, admitted
):
    """What is wanted of a window that ends, and counting begins anew."""
    mask, age, place, alive, cut = mass.size - 1, 0, -1, 0.0, 0.0
    for c in range(sizes[CLASSES]):
        row, share = classes[c, ROW], amounts[c, SHARE]
        while place < classes[c, PLACE]:
            place += 1
            cut += flows[CUT, place]  # of ages below this end
        if wanted[ADMITTED] != NEVER:
            levels[wanted[ADMITTED], window, row] = share * admitted
        if wanted[COMPLETED] != NEVER:
            done = share * flows[DONE, place] + flows[STARTED_DONE, row]
            levels[wanted[COMPLETED], window, row] = done
        if wanted[EVICTED] != NEVER:
            levels[wanted[EVICTED], window, row] = share * cut + flows[STARTED_CUT, row]
        if wanted[IN_FLIGHT] != NEVER:
            while age < classes[c, DECODE]:
                alive += mass[(now - age) & mask]
                age += 1
            requests = share * alive
            for stage in range(classes[c, DECODE] - now):
                requests += begun[stage] * start[row, stage]
            levels[wanted[IN_FLIGHT], window, row] = requests
    for flow in range(flows.shape[0]):
        for place in range(flows.shape[1]):
            flows[flow, place] = 0.0
