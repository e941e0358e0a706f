"""The mass model seen from its labels, compiled: one trajectory after the other, a scalar loop.

A *label* is what one iteration admitted, a relative position of Appendix A; its requests never
change places with those of another. So an iteration touches few labels. What has reached an end of
its class completes; memory grows by one token for each request that stays; what is then too much is
taken from the youngest label, and from the next one where that is used up; what is free is a new
label. A label that is used up does not come back (Lemma A.3), so an iteration costs O(1) amortised
for each part of a unit (`tables`), whatever the decode length. `one_end` and `several_ends` are the
loops.

Masses lie in a ring by birth: what is left of the label that entered in iteration b is
`mass[b & mask]`, and what was there at the start at stage s entered at -s. So what completes at an
end is one read, whatever the number of labels; and each label is linked to the one before it, for
eviction, which takes the youngest first, and with one end to the one after it, which says when the
next completes.

What is recorded on the way changes nothing: a trajectory does not depend on it, nor on where a call
ends. Written for any kind of number: over rationals, as plain Python, this equals
`fluidkv.exact.mass`.

Source: Congestion, section 2.2, Appendix A.1, Lemma A.3 and Proposition A.4.
"""

import numpy as np

from fluidkv.fluid.labels import lane as col
from fluidkv.fluid.labels.lane import Lanes, Windows
from fluidkv.fluid.labels.looks import look
from fluidkv.fluid.labels.one_end import follow_one_end
from fluidkv.fluid.labels.several_ends import follow_several_ends
from fluidkv.fluid.labels.tables import ALIVE, BY_CLASS, PARTS, STAGES, Tables
from fluidkv.fluid.labels.windows import write_classes, write_units
from fluidkv.runs.kernels import inner, kernel


@kernel
def advance_lanes(tables, lanes, windows, looks, until, every):
    """All lanes to iteration `until`, or to their end, from where they are, or from their starts.

    Args:
        tables: systems.
        lanes, windows, looks: as they say; windows are of `every` iterations. Rows that a system
            does not have are left as they are.
    """
    for i in range(lanes.system.size):
        s = lanes.system[i]
        table = Tables(tables.sizes[s], tables.unit[s], tables.decode[s], tables.parts[s])
        lane = Lanes(
            s, lanes.start[i], lanes.capacity[i], min(until, lanes.until[i]), lanes.numbers[i],
            lanes.counts[i], lanes.mass[i], lanes.link[i], lanes.after[i], lanes.begun[i],
            lanes.flows[i],
        )  # fmt: skip
        window = Windows(
            windows.admitted[i], windows.completed[i], windows.evicted[i], windows.in_flight[i],
            windows.empty_stages[i], windows.state[i], windows.final[i],
        )  # fmt: skip
        often, reached = looks.every[s], looks.reached[i]
        turn = table.sizes[STAGES] * (1 if often > 0 else col.TURNS)
        counts, by_class = lane.counts, table.sizes[BY_CLASS] > 0
        one = table.sizes[PARTS] == 1 and not by_class and table.unit[0, ALIVE] == 1.0
        if counts[col.NOW] == col.NEVER:
            _lay(table, lane, reached)
        while counts[col.ENDED] == col.GOES_ON and counts[col.NOW] < lane.until:
            stop = lane.until
            if often > 0:
                stop = min(stop, (counts[col.NOW] // often + 1) * often)
            if one:
                follow_one_end(table, lane, window, reached, turn, stop, every)
            else:
                follow_several_ends(table, lane, window, stop, every)
            if often > 0 and stop % often == 0:
                counts[col.ENDED] = look(table, lane, looks, i)
        if by_class:
            write_classes(table, lane, window.final, counts[col.NOW])
        else:
            write_units(table, lane, window.final, counts[col.NOW])


@inner
def _lay(table, lane, reached):
    """The labels of the start, oldest first."""
    counts, mask, stages, live = lane.counts, lane.mass.size - 1, table.sizes[STAGES], 0
    start, young, oldest = lane.start, -stages, -stages
    if table.sizes[BY_CLASS] == 0:
        for stage in range(stages - 1, -1, -1):
            if start[0, stage] > 0.0:
                at = np.uint64(-stage & mask)
                lane.mass[at], lane.link[at] = start[0, stage], young
                lane.after[np.uint64(young & mask)] = -stage
                oldest = -stage if live == 0 else oldest
                young, live = -stage, live + 1
    counts[col.NOW], counts[col.YOUNG], counts[col.OLDEST], counts[col.LEVEL] = (
        0,
        young,
        oldest,
        stages,
    )
    counts[col.LIVE] = live
    if reached.size > 0:
        counts[col.LEVEL] = stages - live
        counts[col.ENDED] = col.ALONE if live == 1 else col.GOES_ON
    for level in range(reached.size):
        reached[level] = 0 if level <= counts[col.LEVEL] else col.NEVER
