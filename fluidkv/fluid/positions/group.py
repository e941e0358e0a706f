"""Trajectories one after the other, each in its own system, and what is recorded of them. Compiled.

All that a trajectory touches lies together and stays in cache until it is done with. A call makes
some iterations of a group and can be left between two calls.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.fluid.positions import lane, mixed, single
from fluidkv.fluid.positions.lane import (
    ADMITTED,
    BIRTHS,
    CAPACITY,
    COMPLETED,
    EVICTED,
    FLOWS,
    IN_FLIGHT,
    LOGGED,
    NOW,
    UNITS,
    ring_of,
)
from fluidkv.fluid.positions.tables import Tables
from fluidkv.runs.kernels import inner, kernel


class Group(NamedTuple):
    """Lanes, and the system of each.

    Fields:
        system: index into the tables.
        start: masses at the start.
        numbers, counts: see `lane`.
    """

    system: Int[np.ndarray, " lane"]
    start: Float[np.ndarray, "lane row stage"]
    numbers: Float[np.ndarray, "lane number"]
    counts: Int[np.ndarray, "lane count"]


class Records(NamedTuple):
    """What is read at the end of each window; an array of no windows is not wanted."""

    admitted: Float[np.ndarray, "lane window row"]
    completed: Float[np.ndarray, "lane window row"]
    evicted: Float[np.ndarray, "lane window row"]
    memory: Float[np.ndarray, "lane window"]
    in_flight: Float[np.ndarray, "lane window row"]
    empty_stages: Float[np.ndarray, "lane window"]
    state: Float[np.ndarray, "lane window row stage"]


def new_group(
    tables: Tables,
    system: Int[np.ndarray, " lane"],
    start: Float[np.ndarray, "lane row stage"],
    capacity: Float[np.ndarray, " lane"],
) -> Group:
    """Lanes at their starts; what a start has beyond the stages and classes of its system is 0."""
    lanes, rows, stages = start.shape
    ring, ends = ring_of(stages), int(np.diff(tables.end).max())
    group = Group(
        system=np.ascontiguousarray(system, dtype=np.int64),
        start=np.ascontiguousarray(start, dtype=np.float64),
        numbers=np.empty((lanes, UNITS + ring + FLOWS * rows)),
        counts=np.empty((lanes, BIRTHS + 2 * ring + ends), np.int64),
    )
    _begin(tables, group, ring, np.ascontiguousarray(capacity, dtype=np.float64))
    return group


@kernel
def _begin(tables: Tables, group: Group, ring: int, capacity: np.ndarray) -> None:
    for i in range(group.system.size):
        system = group.system[i]
        ends = tables.ends[tables.end[system] : tables.end[system + 1]]
        by_class = tables.by_class[system] == 1
        lane.lay(
            group.numbers[i], group.counts[i], ring, ends, group.start[i], by_class, capacity[i]
        )


@kernel
def advance_group(
    tables: Tables,
    group: Group,
    records: Records,
    log: np.ndarray,
    until: int,
    every: int,
) -> None:
    """All lanes to iteration `until`; what is recorded at the end of each window of `every`.

    Args:
        log: room for the windows that end on the way; without rows nothing is recorded.
    """
    none = np.empty((0, 1, 1))
    for i in range(group.system.size):
        numbers, counts = group.numbers[i], group.counts[i]
        states = none
        first = counts[NOW] // every
        windows = until // every - first
        if records.state.shape[1] > 0:
            states = records.state[i, first : first + windows]
        e, f = int(tables.end[group.system[i]]), int(tables.end[group.system[i] + 1])
        rows = 1
        inputs, stages = tables.units[e, mixed.INPUTS], int(tables.ends[e])
        if _is_single(tables, group.system[i]):
            single.follow(numbers, counts, log, states, inputs, stages, until, every)
        else:
            places, units, classes = mix_of(tables, group, i)
            rows = max(classes, 1)
            mixed.follow(numbers, counts, log, states, places, units, f - e, classes, until, every)
        if log.shape[0] > 0:
            _keep(records, log, i, first, windows, rows, numbers[CAPACITY])


@inner
def _is_single(tables: Tables, system: int) -> bool:
    """Whether a unit is one request, without a rounding of shares, and there is one row."""
    e, f = tables.end[system], tables.end[system + 1]
    whole = tables.units[e, mixed.HELD] == 1.0 and tables.units[e, mixed.LEAVING] == 1.0
    freed = tables.units[e, mixed.INPUTS] + tables.ends[e]
    same = tables.units[e, mixed.FREED] == freed
    return f == e + 1 and whole and same and tables.by_class[system] == 0


@kernel
def states_of(tables: Tables, group: Group, states: np.ndarray) -> None:
    """Masses (lane, row, stage) where the lanes are."""
    for i in range(group.system.size):
        places, units, classes = mix_of(tables, group, i)
        ends = int(tables.end[group.system[i] + 1] - tables.end[group.system[i]])
        mixed.write_state(
            group.numbers[i], group.counts[i], states, i, places, units, ends, classes
        )


@kernel
def mix_of(tables: Tables, group: Group, i: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Of a lane: `places`, `units` (see `mixed`) and how many classes have a row."""
    system = group.system[i]
    e, f, k = int(tables.end[system]), int(tables.end[system + 1]), int(tables.one[system])
    ends, classes, kinds = f - e, 0, 1
    if tables.by_class[system] == 1:
        classes, kinds = int(tables.one[system + 1]) - k, 1 + int(tables.ends[f - 1])
    stride = 4 * ends + classes
    places = np.empty(2 * ends + classes + 1, np.int64)
    units = np.zeros(kinds * stride)
    places[ends + classes] = 0
    for j in range(ends):
        places[j] = tables.ends[e + j]
        places[ends + classes + j + 1] = places[ends + classes + j] + tables.classes[e + j]
        for number in range(4):
            units[4 * j + number] = tables.units[e + j, number]
    for c in range(classes):
        places[ends + c] = tables.rows[k + c]
        units[4 * ends + c] = tables.shares[k + c]
    for kind in range(1, kinds):
        base = kind * stride
        for c in range(classes):
            mass = group.start[i, tables.rows[k + c], kind - 1]
            units[base + 4 * ends + c] = mass
            for j in range(ends):
                if c >= places[ends + classes + j]:
                    at = base + 4 * j
                    units[at + mixed.HELD] += mass
                    units[at + mixed.INPUTS] += mass * tables.inputs[k + c]
                    if c < places[ends + classes + j + 1]:
                        units[at + mixed.LEAVING] += mass
                        units[at + mixed.FREED] += mass * (tables.inputs[k + c] + places[j])
    return places, units, classes


@inner
def _keep(
    records: Records,
    log: np.ndarray,
    i: int,
    first: int,
    windows: int,
    rows: int,
    capacity: float,
) -> None:
    """Of what is logged, what is wanted."""
    for window in range(windows):
        at = first + window
        for row in range(rows):
            if records.admitted.shape[1] > 0:
                records.admitted[i, at, row] = log[window, ADMITTED * rows + row]
            if records.completed.shape[1] > 0:
                records.completed[i, at, row] = log[window, COMPLETED * rows + row]
            if records.evicted.shape[1] > 0:
                records.evicted[i, at, row] = log[window, EVICTED * rows + row]
            if records.in_flight.shape[1] > 0:
                records.in_flight[i, at, row] = log[window, IN_FLIGHT * rows + row]
        if records.memory.shape[1] > 0:
            records.memory[i, at] = capacity
        if records.empty_stages.shape[1] > 0:
            records.empty_stages[i, at] = log[window, LOGGED * rows]
