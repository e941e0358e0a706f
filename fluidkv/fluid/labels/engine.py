"""Trajectories of many systems on the CPU, by what completes and what is used up: `advance`.

Each trajectory names its system, so that a batch may hold 100,000 different ones: each does its own
work and none waits for another. Groups of trajectories go to threads; what a trajectory does
depends neither on its group nor on what is recorded of it.

`reference` says what is computed, `kernel` computes it, `tables` packs systems.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.fluid.labels.kernel import advance_lanes
from fluidkv.fluid.labels.lane import (
    COUNTS,
    EVICTIONS,
    FIRST_EVICTION,
    FLOWS,
    LAST_FULL,
    LIVE,
    NEVER,
    NUMBERS,
)
from fluidkv.fluid.labels.tables import Tables
from fluidkv.processes import cores
from fluidkv.runs.batch import Progress, Reached, Watch, go_on, in_groups, power_of_two

REQUESTS = ("admitted", "completed", "evicted", "in_flight")  # in the order of the kernel's names
RECORDS = (*REQUESTS, "memory", "empty_stages", "state")
_CACHE = 2**19  # bytes of a group's labels, about what a core's own cache holds beside the rest
_LANES = 1024  # of a group at most: there are to be some for each thread
_CALL = 2**25  # iterations of a call at most, a second or so: then an interrupt counts


class Advanced(NamedTuple):
    """What `advance` found.

    Fields:
        state: masses after the last iteration.
        records: by name, of each window: admitted, completed, evicted and in_flight (lane, window,
            row), memory and empty_stages (lane, window), state (lane, window, row, stage).
        evictions: how many iterations evicted.
        first_eviction: the first that did, -1 if none.
        last_full: the last one after whose execution memory was full, so that nothing was admitted
            (an eviction, or an exact tie); 0 if none.
        live: stages with mass at the end.
    """

    state: Float[np.ndarray, "lane row stage"]
    records: dict[str, np.ndarray]
    evictions: Int[np.ndarray, " lane"]
    first_eviction: Int[np.ndarray, " lane"]
    last_full: Int[np.ndarray, " lane"]
    live: Int[np.ndarray, " lane"]


class Lanes(NamedTuple):
    """Trajectories where they are.

    Fields:
        numbers, counts: columns of `lane`.
        mass, link, after: units of the label that entered in iteration b, and the births of those
            before and after it that are left, at b modulo the size of the ring.
        begun, flows: see `by_class` and `lane`.
    """

    numbers: Float[np.ndarray, "lane number"]
    counts: Int[np.ndarray, "lane count"]
    mass: Float[np.ndarray, "lane label"]
    link: Int[np.ndarray, "lane label"]
    after: Int[np.ndarray, "lane label"]
    begun: Float[np.ndarray, "lane stage"]
    flows: Float[np.ndarray, "lane 4 end|row"]


class Windows(NamedTuple):
    """What is read at the end of each window.

    Fields:
        wanted: of each of `REQUESTS`, which of the levels it is; NEVER where it is not wanted.
        levels: requests, summed over the window or at its end.
        empty, states: stages without mass; masses. No windows where they are not wanted.
    """

    wanted: Int[np.ndarray, " 4"]
    levels: Float[np.ndarray, "wanted lane window row"]
    empty: Float[np.ndarray, "lane window"]
    states: Float[np.ndarray, "lane window row stage"]


def new_lanes(tables: Tables, count: int, rows: int) -> Lanes:
    """Room for lanes that have not begun."""
    (_, stages), ends = tables.segment.shape, tables.end.shape[1]
    ring = power_of_two(stages)
    counts = np.empty((count, COUNTS), np.int64)
    counts[:] = NEVER
    return Lanes(
        numbers=np.empty((count, NUMBERS)),
        counts=counts,
        mass=np.empty((count, ring)),
        link=np.empty((count, ring), np.int64),
        after=np.empty((count, ring), np.int64),
        begun=np.empty((count, stages)),
        flows=np.empty((count, FLOWS, max(ends, rows))),
    )


def advance(
    tables: Tables,
    system: Int[np.ndarray, " lane"],
    start: Float[np.ndarray, "lane row stage"],
    capacity: Float[np.ndarray, " lane"],
    *,
    iterations: int,
    record: Sequence[str] = (),
    every: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Advanced:
    """Iterate each trajectory in its own system. Checks nothing.

    Args:
        tables: systems, from `tables.pack`, `of_systems` or `of_model`.
        system: of each trajectory, its place in the tables.
        start: masses with memory at or below capacity. A row is a class where the system's table
            is by class, in the system's order; else the first row alone is read, cohort masses
            (units of admission). Rows and stages that a system does not have are 0.
        capacity: M of each trajectory, tokens.
        iterations: how many.
        record: names out of `RECORDS`.
        every: length of a window; `iterations` is a multiple of it where anything is recorded.
        threads: by default one for each core.
        progress: told now and then, maybe from another thread: iterations, trajectories done.

    Returns:
        See `Advanced`. The same bits for any number of threads, any group, and any record. `memory`
        is the capacity, which each iteration fills: it cannot be written to.
    """
    lanes, rows, stages = start.shape
    every = every if record else max(1, iterations)
    windows = iterations // every
    system = np.ascontiguousarray(system, dtype=np.int64)
    start = np.ascontiguousarray(start, dtype=np.float64)
    capacity = np.ascontiguousarray(capacity, dtype=np.float64)
    names = [name for name in REQUESTS if name in record]
    read = Windows(
        wanted=np.array([names.index(name) if name in names else NEVER for name in REQUESTS]),
        levels=np.empty((len(names), lanes, windows, rows)),
        empty=np.empty((lanes, windows if "empty_stages" in record else 0)),
        states=np.empty((lanes, windows if "state" in record else 0, rows, stages)),
    )
    final, counts = np.empty(start.shape), np.empty((lanes, COUNTS), np.int64)
    one = new_lanes(tables, 1, rows)
    size = max(1, min(_CACHE // sum(field.nbytes for field in one), _LANES))
    block = max(1, _CALL // size)
    block = every * max(1, block // every) if record else block
    watch = Watch(progress)

    def run(members: np.ndarray) -> None:
        at, count = slice(members[0], members[-1] + 1), len(members)
        group = new_lanes(tables, count, rows)
        own = system[at], start[at], capacity[at]
        out = Windows(read.wanted, read.levels[:, at], read.empty[at], read.states[at])

        def on(now: int) -> Reached:
            until = min(now + block, iterations)
            advance_lanes(*tables, *own, *group, *out, final[at], until, every)
            done = count if until == iterations else 0
            return Reached(until, until * count, done, until < iterations)

        go_on(on, iterations, watch)
        counts[at] = group.counts

    in_groups(run, lanes, size, min(threads or cores(), -(-lanes // size)), watch)
    records = dict(zip(names, read.levels, strict=True))
    if "memory" in record:
        records["memory"] = np.broadcast_to(capacity[:, None], (lanes, windows))
    if "empty_stages" in record:
        records["empty_stages"] = read.empty
    if "state" in record:
        records["state"] = read.states
    found = (counts[:, column] for column in (EVICTIONS, FIRST_EVICTION, LAST_FULL, LIVE))
    return Advanced(final, {name: records[name] for name in RECORDS if name in record}, *found)
