"""What is read of a lane where it is: its sums, its masses, and what a window records."""

import numpy as np

from fluidkv.fluid.labels import lane as col
from fluidkv.fluid.labels.tables import ALIVE, BY_CLASS, FREED, HELD, PARTS, SHARE, STAGES
from fluidkv.runs.kernels import inner


@inner
def sums(table, lane, now, young):
    """Requests, and the tokens that they hold, youngest first."""
    mask, birth, zero = lane.mass.size - 1, young, 0 * lane.capacity
    requests, held = zero, zero
    while now - birth < table.sizes[STAGES]:
        at = np.uint64(birth & mask)
        requests += lane.mass[at] * table.unit[now - birth, ALIVE]
        held += lane.mass[at] * table.unit[now - birth, HELD]
        birth = lane.link[at]
    if table.sizes[BY_CLASS] > 0:
        more, further = zero, zero
        for c in range(table.sizes[PARTS]):
            for age in range(now, table.decode[c]):
                units = lane.begun[age - now] * lane.start[c, age - now]
                more += units
                further += units * (table.parts[c, FREED] - (table.decode[c] - age))
        requests += more
        held += further
    return requests, held


@inner
def record_units(table, lane, windows, now, window, live, flows):
    """What is wanted of a window that ends, of one row.

    Args:
        live: stages with mass.
        flows: as the first four of a lane's numbers.
    """
    if windows.empty_stages.size > 0:
        windows.empty_stages[window] = table.sizes[STAGES] - live
    if windows.state.size > 0:
        write_units(table, lane, windows.state[window], now)
    if windows.admitted.size > 0:
        windows.admitted[window, 0] = flows[col.ADMITTED]
    if windows.completed.size > 0:
        windows.completed[window, 0] = flows[col.COMPLETED]
    if windows.evicted.size > 0:
        windows.evicted[window, 0] = flows[col.EVICTED]
    if windows.in_flight.size > 0:
        windows.in_flight[window, 0] = flows[col.IN_FLIGHT]


@inner
def record_classes(table, lane, windows, now, window, young, admitted):
    """As `record_units`, of a row for each class; counting begins anew."""
    if windows.empty_stages.size > 0:
        live = live_labels(table, lane, now, young) + _live_started(table, lane, now)
        windows.empty_stages[window] = table.sizes[STAGES] - live
    if windows.state.size > 0:
        write_classes(table, lane, windows.state[window], now)
    for c in range(table.sizes[PARTS]):
        share = table.parts[c, SHARE]
        if windows.admitted.size > 0:
            windows.admitted[window, c] = share * admitted
        if windows.completed.size > 0:
            windows.completed[window, c] = lane.flows[col.DONE, c]
        if windows.evicted.size > 0:
            windows.evicted[window, c] = lane.flows[col.CUT, c]
        lane.flows[col.DONE, c] = lane.flows[col.CUT, c] = 0 * share
        if windows.in_flight.size > 0:
            units, birth = 0 * share, young
            while now - birth < table.decode[c]:
                units += lane.mass[birth & (lane.mass.size - 1)]
                birth = lane.link[birth & (lane.mass.size - 1)]
            requests = share * units
            for stage in range(table.decode[c] - now):
                requests += lane.begun[stage] * lane.start[c, stage]
            windows.in_flight[window, c] = requests


@inner
def live_labels(table, lane, now, young):
    """How many, of those that were admitted."""
    live, birth = 0, young
    while now - birth < table.sizes[STAGES]:
        live += 1
        birth = lane.link[birth & (lane.mass.size - 1)]
    return live


@inner
def _live_started(table, lane, now):
    """How many, of a start off the manifold."""
    live = 0
    for stage in range(table.sizes[STAGES] - now):
        left = 0 * lane.capacity
        for c in range(table.sizes[PARTS]):
            if table.decode[c] > stage + now:
                left += lane.begun[stage] * lane.start[c, stage]
        live += left > 0.0
    return live


@inner
def write_units(table, lane, state, now):
    """Masses (row, stage), of one row."""
    for age in range(table.sizes[STAGES]):
        state[0, age] = lane.mass[(now - age) & (lane.mass.size - 1)]
    for age in range(table.sizes[STAGES], state.shape[1]):
        state[0, age] = 0.0


@inner
def write_classes(table, lane, state, now):
    """Masses (row, stage)."""
    for c in range(table.sizes[PARTS]):
        for age in range(table.decode[c]):
            if age < now:
                units = lane.mass[(now - age) & (lane.mass.size - 1)]
                state[c, age] = table.parts[c, SHARE] * units
            else:
                state[c, age] = lane.begun[age - now] * lane.start[c, age - now]
        for age in range(table.decode[c], state.shape[1]):
            state[c, age] = 0.0
