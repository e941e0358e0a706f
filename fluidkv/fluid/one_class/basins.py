"""Which attractor a start leads to, when, and by which path of eviction levels: in batches."""

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from fluidkv.fluid.boundary import checked_starts
from fluidkv.fluid.one_class.events import NEVER, check_horizon, classes_of, columns, settle
from fluidkv.labels import dataset
from fluidkv.workload import System

MAXIMAL = "maximal-eviction cycle"
FIXED = "fixed point"
BALANCED = "balanced cycle"
NOT_SETTLED = "not settled"


def basins(system: System, starts: ArrayLike, *, iterations: int = 5000) -> xr.Dataset:
    """Run each start until it settles, and name what it settled on.

    Recognition is careful, as all but the maximal-eviction cycle are unstable. A trajectory is on
    the maximal-eviction cycle when one stage is occupied and all others are exactly 0. It is on
    another cycle only where the masses repeat themselves bit by bit after one or more turns of l1
    iterations: a start that merely comes near an unstable cycle is followed until it has left
    again or the horizon ends.

    This speaks about floats. A start that is captured exactly by a balanced cycle
    (`fluidkv.exact.one_class.capture`) is mostly lost to rounding, and goes on to the
    maximal-eviction cycle; but rounding can also hold a trajectory on an unstable cycle for ever,
    where the differences between its masses are units in the last place that grow by less than
    half a unit.

    Args:
        system: one class.
        starts: masses by stage on the memory boundary, (batch, stage); from `uniform_starts`,
            `nearby_starts`, `slice_starts` or elsewhere.
        iterations: the horizon, at least 1.

    Returns:
        A dataset as `event_log` returns it, index order (batch, level | stage), and besides:
            attractor (batch): "maximal-eviction cycle", "fixed point", "balanced cycle" or
                "not settled" (within the horizon). With l1 = 1 there is only the fixed point.
            live (batch, stage): the relative positions that carry mass at the end. The distances
                between them, around the circle, are the gaps of a balanced cycle.
            start (batch, stage).

    Raises:
        InputError: more than one class, a start off the memory boundary, iterations below 1.

    Source: Congestion, Theorem 2 and Appendix A.1.
    """
    classes = classes_of(system)
    masses = checked_starts(system, starts)
    check_horizon(iterations)
    events = settle(classes, masses, len(masses), int(iterations))
    live = events.final > 0
    found = columns(events, classes.decode_length, ("batch",), (len(masses),))
    found["attractor"] = "batch", _attractor(events.counts[:, 2], live), "1", "what it settled on"
    found["live"] = ("batch", "stage"), live, "1", "relative positions with mass at the end"
    found["start"] = ("batch", "stage"), masses, "request", "mass by stage of the start"
    return dataset(found, system=system, iterations=int(iterations))


def _attractor(settled: np.ndarray, live: np.ndarray) -> np.ndarray:
    count = live.sum(axis=1)
    names = [NOT_SETTLED, FIXED, MAXIMAL]
    which = [settled == NEVER, count == live.shape[1], count == 1]
    return np.select(which, names, BALANCED)
