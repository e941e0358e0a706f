"""What is read of a lane where it is: sums, live stages, masses, and what a window records."""

import numpy as np

from fluidkv.fluid.labels.by_class import count_started, record_classes, sum_started
from fluidkv.fluid.labels.lane import ADMITTED, COMPLETED, EVICTED, IN_FLIGHT, NEVER
from fluidkv.fluid.labels.tables import ALIVE, CLASSES, DECODE, HELD, ROW, SHARE, STAGES
from fluidkv.runs.kernels import inner


@inner
def sums(sizes, unit, classes, amounts, start, mass, link, begun, now, young):
    """Requests, and the tokens that they hold, youngest first."""
    mask, requests, held, birth = mass.size - 1, 0.0, 0.0, young
    while now - birth < sizes[STAGES]:
        at = np.uint64(birth & mask)
        requests += mass[at] * unit[now - birth, ALIVE]
        held += mass[at] * unit[now - birth, HELD]
        birth = link[at]
    if sizes[CLASSES] > 0:
        more, further = sum_started(sizes, classes, amounts, start, begun, now)
        requests += more
        held += further
    return requests, held


@inner
def live_stages(sizes, classes, start, mass, link, begun, now, young):
    """Stages with mass."""
    mask, live, birth = mass.size - 1, 0, young
    while now - birth < sizes[STAGES]:
        live += 1
        birth = link[birth & mask]
    if sizes[CLASSES] > 0:
        live += count_started(sizes, classes, start, begun, now)
    return live


@inner
def record(
    sizes, unit, classes, amounts, start, mass, link, begun, flows, wanted, levels,
    empty, states, now, window, young, requests, admitted, completed, evicted,
):  # fmt: skip
    """What is wanted of a window that ends."""
    if empty.size > 0:
        live = live_stages(sizes, classes, start, mass, link, begun, now, young)
        empty[window] = sizes[STAGES] - live
    if states.shape[0] > 0:
        write_state(states[window], now, sizes, classes, amounts, start, mass, begun)
    if levels.shape[2] > max(1, sizes[CLASSES]):  # there are rows that the system does not have
        for level in range(levels.shape[0]):
            for row in range(levels.shape[2]):
                levels[level, window, row] = 0.0
    if sizes[CLASSES] > 0:
        record_classes(
            sizes, classes, amounts, start, mass, begun, flows, wanted, levels, now, window,
            admitted,
        )  # fmt: skip
        return
    if wanted[ADMITTED] != NEVER:
        levels[wanted[ADMITTED], window, 0] = admitted * unit[0, ALIVE]
    if wanted[COMPLETED] != NEVER:
        levels[wanted[COMPLETED], window, 0] = completed
    if wanted[EVICTED] != NEVER:
        levels[wanted[EVICTED], window, 0] = evicted
    if wanted[IN_FLIGHT] != NEVER:
        levels[wanted[IN_FLIGHT], window, 0] = requests


@inner
def write_state(state, now, sizes, classes, amounts, start, mass, begun):
    """Masses (row, stage)."""
    mask = mass.size - 1
    for row in range(state.shape[0]):
        for age in range(state.shape[1]):
            state[row, age] = 0.0
    if sizes[CLASSES] == 0:
        for age in range(sizes[STAGES]):
            state[0, age] = mass[(now - age) & mask]
    for c in range(sizes[CLASSES]):
        row = classes[c, ROW]
        for age in range(classes[c, DECODE]):
            if age < now:
                state[row, age] = amounts[c, SHARE] * mass[(now - age) & mask]
            else:
                state[row, age] = begun[age - now] * start[row, age - now]
