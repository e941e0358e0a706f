"""Which attractor a start leads to, when, and by which path of eviction levels: in batches.

Trajectories settle at very different times. So a pool of lanes runs, and as soon as a part of
them has settled they make room for starts that wait; the last few go on in a smaller pool.
"""

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jax
import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.fluid.boundary import checked_starts, weights_of_one_class
from fluidkv.fluid.one_class.events import (
    NEVER,
    Run,
    advance,
    begin,
    check_horizon,
    dataset,
    running,
)
from fluidkv.runs.precision import in_float64
from fluidkv.workload import System

MAXIMAL = "maximal-eviction cycle"
FIXED = "fixed point"
BALANCED = "balanced cycle"
NOT_SETTLED = "not settled"

# Lanes of a pool. 4,096 lanes of 40 stages are 1.3 MB, about what a core's cache holds; with
# fewer the cost of starting an operation shows. `benchmarks/basins.py` times the choice.
_LANES = 4096
_SMALL = 256
_CORES = min(os.cpu_count() or 1, 2)  # pools at once; an operation does not use two cores well
_REFILL = 4  # a pool is refilled when one lane in 4 has finished


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
    weights, capacity = weights_of_one_class(system)
    masses = checked_starts(system, starts)
    check_horizon(iterations)
    workers = _CORES if len(masses) >= 4 * _LANES else 1
    parts = np.array_split(masses, workers)
    with ThreadPoolExecutor(workers) as pool:
        runs = list(pool.map(partial(_run, weights, capacity, iterations), parts))
    run = Run(*(np.concatenate(fields, axis=-1) for fields in zip(*runs, strict=True)))
    found = dataset(run)
    live = found.final_state.values > 0
    found["attractor"] = ("batch", _attractor(found.settled.values, live))
    found["live"] = (("batch", "stage"), live)
    found["start"] = (("batch", "stage"), masses)
    return found.assign_attrs(iterations=int(iterations))


def _attractor(settled: np.ndarray, live: np.ndarray) -> np.ndarray:
    count = live.sum(axis=1)
    names = [NOT_SETTLED, FIXED, MAXIMAL]
    which = [settled == NEVER, count == live.shape[1], count == 1]
    return np.select(which, names, BALANCED)


def _run(
    weights: Float[np.ndarray, " stage"],
    capacity: Float[np.ndarray, ""],
    iterations: int,
    masses: Float[np.ndarray, "batch stage"],
) -> Run:
    """All starts to their end, through pools of a few sizes (each size is compiled once)."""
    horizon = np.asarray(iterations, np.int32)
    lanes = _pool_size(len(masses))
    waiting = deque(range(len(masses)))
    where = _take(waiting, lanes)  # the start that a lane runs; -1 for a spare lane
    with in_float64():
        run = _host(_begin(masses[where].T))
        where[len(masses) :] = -1
        results = [np.empty((*f.shape[:-1], len(masses)), f.dtype) for f in run]
        while True:
            size = len(where)
            drop = not waiting and size > _SMALL
            enough = size - size // _REFILL if waiting else _SMALL if drop else 0
            run = _host(_advance(weights, capacity, run, horizon, np.int32(enough)))
            ended = ~np.asarray(running(run, horizon)) & (where >= 0)
            for result, field in zip(results, run, strict=True):
                result[..., where[ended]] = field[..., ended]
            where[ended] = -1
            free = np.flatnonzero(where < 0)[: len(waiting)]
            if free.size:
                fresh = _take(waiting, free.size)
                joined = _host(_begin(_padded(masses[fresh], size).T))
                for field, new in zip(run, joined, strict=True):
                    field[..., free] = new[..., : free.size]
                where[free] = fresh
            elif not np.any(where >= 0):
                return Run(*results)
            elif drop:
                kept = np.argsort(where < 0, kind="stable")[:_SMALL]
                run, where = Run(*(field[..., kept] for field in run)), where[kept]


def _pool_size(count: int) -> int:
    return _LANES if count > _SMALL else _SMALL


def _take(waiting: deque[int], count: int) -> np.ndarray:
    """The next starts; where fewer wait than asked for, the first one fills up."""
    taken = [waiting.popleft() for _ in range(min(count, len(waiting)))]
    return np.array(taken + [0] * (count - len(taken)))


def _padded(masses: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate(
        [masses, np.broadcast_to(masses[:1], (size - len(masses), masses.shape[1]))]
    )


def _host(run: Run) -> Run:
    """Writable copies on the host."""
    return Run(*(np.array(field) for field in run))


_begin = jax.jit(begin)
_advance = jax.jit(advance)
