"""Trajectories of many systems on the CPU, by what completes and what is used up: `advance`.

Each trajectory names its system, so that a batch may hold 100,000 different ones: each does its own
work and none waits for another. Groups of trajectories go to threads; what a trajectory does
depends neither on its group nor on what is recorded of it.

`reference` says what is computed, `single` and `mixed` compute it, `tables` packs systems.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.fluid.positions.group import Group, Records, advance_group, new_group, states_of
from fluidkv.fluid.positions.lane import (
    EVICTIONS,
    FIRST_EVICTION,
    HEAD,
    LAST_FULL,
    LOGGED,
    TAIL,
)
from fluidkv.fluid.positions.tables import Tables
from fluidkv.processes import cores
from fluidkv.runs.batch import Progress, Reached, Watch, go_on, in_groups

RECORDS = Records._fields
_CACHE = 2**19  # bytes of a group's states, about what a core's own cache holds beside the rest
_LANES = 1024  # of a group at most: there are to be some for each thread
_LOG = 1024  # windows that a lane logs before they are kept
_CALL = (
    2**25
)  # iterations of a call at most, a few seconds at the slowest: then an interrupt counts


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
        live: stages with mass at the end. (One whose classes that live that long hold nothing
            counts until it is reached.)
    """

    state: Float[np.ndarray, "lane row stage"]
    records: dict[str, np.ndarray]
    evictions: Int[np.ndarray, " lane"]
    first_eviction: Int[np.ndarray, " lane"]
    last_full: Int[np.ndarray, " lane"]
    live: Int[np.ndarray, " lane"]


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
        See `Advanced`. The same bits for any number of threads, any group, and any record.
    """
    lanes, rows, stages = start.shape
    every = every if record else max(1, iterations)
    records = _records(lanes, iterations // every, rows, stages, record)
    state = np.empty(start.shape)
    counts = np.empty((lanes, 4), np.int64)
    size = max(1, min(_CACHE // (stages * (8 * rows + 48)), _LANES))
    block = max(1, _CALL // size)
    if record:
        block = every * max(1, min(block // every, _LOG))
    watch = Watch(progress)

    def run(members: np.ndarray) -> None:
        at = slice(members[0], members[-1] + 1)
        group = new_group(tables, system[at], start[at], capacity[at])
        own = Records(*(field[at] for field in records))
        log = np.empty((block // every if record else 0, LOGGED * rows + 1))

        def on(now: int) -> Reached:
            until = min(now + block, iterations)
            advance_group(tables, group, own, log, until, every)
            done = len(members) if until == iterations else 0
            return Reached(until, until * len(members), done, until < iterations)

        go_on(on, iterations, watch)
        states_of(tables, group, state[at])
        counts[at] = _counts(group)

    in_groups(run, lanes, size, min(threads or cores(), -(-lanes // size)), watch)
    kept = {name: getattr(records, name) for name in RECORDS if name in record}
    return Advanced(state, kept, *counts.T)


def _records(lanes: int, windows: int, rows: int, stages: int, record: Sequence[str]) -> Records:
    def room(name: str, *shape: int) -> np.ndarray:
        return np.zeros((lanes, windows if name in record else 0, *shape))

    return Records(
        admitted=room("admitted", rows),
        completed=room("completed", rows),
        evicted=room("evicted", rows),
        memory=room("memory"),
        in_flight=room("in_flight", rows),
        empty_stages=room("empty_stages"),
        state=room("state", rows, stages),
    )


def _counts(group: Group) -> Int[np.ndarray, "lane count"]:
    columns = [EVICTIONS, FIRST_EVICTION, LAST_FULL]
    live = group.counts[:, TAIL] - group.counts[:, HEAD]
    return np.concatenate([group.counts[:, columns], live[:, None]], axis=1)
