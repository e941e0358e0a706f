"""Trajectories one after the other, each in its own system, and what is recorded of them. Compiled.

All that a trajectory touches lies together and stays in cache until it is done with. A call makes
some windows of a group and can be left between two calls.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.fluid.positions import mixed, single
from fluidkv.fluid.positions.lane import (
    ADMITTED,
    BIRTHS,
    CAPACITY,
    COMPLETED,
    COUNTED,
    EVICTED,
    FRESH,
    HEAD,
    NOW,
    TAIL,
    UNITS,
    begin,
    in_flight,
    ring_of,
    youngest,
)
from fluidkv.fluid.positions.mixed import IN, LOST, OUT, Kinds
from fluidkv.fluid.positions.tables import Tables
from fluidkv.runs.kernels import kernel


class Group(NamedTuple):
    """Lanes, and the system of each.

    Fields:
        system: index into the tables.
        start: masses at the start.
        numbers, counts: see `lane`.
        flows: requests admitted, completed and evicted since the last record, of several ends.
        reached: first n with so many empty stages, -1 if not yet; there may be no levels.
    """

    system: Int[np.ndarray, " lane"]
    start: Float[np.ndarray, "lane row stage"]
    numbers: Float[np.ndarray, "lane number"]
    counts: Int[np.ndarray, "lane count"]
    flows: Float[np.ndarray, "lane flow row"]
    reached: Int[np.ndarray, "lane level"]


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
    *,
    levels: int = 0,
) -> Group:
    """Lanes at their starts; what a start has beyond the stages and classes of its system is 0."""
    lanes, _, stages = start.shape
    ring, ends = ring_of(stages), int(np.diff(tables.end).max())
    group = Group(
        system=np.ascontiguousarray(system, dtype=np.int64),
        start=np.ascontiguousarray(start, dtype=np.float64),
        numbers=np.empty((lanes, UNITS + ring)),
        counts=np.empty((lanes, BIRTHS + 2 * ring + ends), np.int64),
        flows=np.zeros((lanes, 3, start.shape[1])),
        reached=np.full((lanes, levels), -1, np.int64),
    )
    _begin(tables, group, np.ascontiguousarray(capacity, dtype=np.float64))
    return group


@kernel
def _begin(tables: Tables, group: Group, capacity: np.ndarray) -> None:
    for i in range(group.system.size):
        system = group.system[i]
        ends = tables.ends[tables.end[system] : tables.end[system + 1]]
        begin(group.numbers[i], group.counts[i], capacity[i])
        by_class = tables.by_class[system] == 1
        mixed.lay(group.numbers[i], group.counts[i], group.start[i], ends, by_class)


@kernel
def advance_group(
    tables: Tables, group: Group, records: Records, until: int, every: int, least: int
) -> None:
    """All lanes to iteration `until`; a record whenever a window of `every` ends.

    A lane stops where no more than `least` labels are left; -1 stops none.
    """
    for i in range(group.system.size):
        system = group.system[i]
        if tables.end[system + 1] == tables.end[system] + 1 and tables.by_class[system] == 0:
            _single(tables, group, records, i, until, every, least)
        else:
            _mixed(tables, group, records, i, until, every, least)


@kernel
def _mixed(
    tables: Tables, group: Group, records: Records, i: int, until: int, every: int, least: int
) -> None:
    """A lane of several ends."""
    kinds = kinds_of(tables, group, i)
    numbers, counts, reached = group.numbers[i], group.counts[i], group.reached[i]
    flows = group.flows[i]
    while counts[NOW] < until:
        window = counts[NOW] // every
        after = min((window + 1) * every, until)
        mixed.follow(numbers, counts, reached, flows, kinds, after, least)
        if counts[NOW] < after:
            return
        if counts[NOW] == (window + 1) * every:
            mixed.count_up(numbers, counts, flows, kinds)
            _record(numbers, counts, flows, kinds, records, i, window)
            flows[:] = 0.0


@kernel
def states_of(tables: Tables, group: Group, states: np.ndarray) -> None:
    """Masses (lane, row, stage) where the lanes are."""
    states[:] = 0.0
    for i in range(group.system.size):
        kinds = kinds_of(tables, group, i)
        numbers, counts = group.numbers[i], group.counts[i]
        at = (counts[TAIL] - 1) & (ring_mask(numbers))
        numbers[UNITS + at] = youngest(numbers, counts)
        _state(numbers, counts, kinds, states[i])


@kernel
def ring_mask(numbers: np.ndarray) -> int:
    """What a label is taken modulo with."""
    return numbers.size - UNITS - 1


@kernel
def _single(
    tables: Tables, group: Group, records: Records, i: int, until: int, every: int, least: int
) -> None:
    """A lane of one end."""
    e = tables.end[group.system[i]]
    stages, inputs = tables.ends[e], tables.units[e, mixed.INPUTS]
    numbers, counts, reached = group.numbers[i], group.counts[i], group.reached[i]
    while counts[NOW] < until:
        window = counts[NOW] // every
        after = min((window + 1) * every, until)
        single.follow(numbers, counts, reached, inputs, stages, after, least)
        if counts[NOW] < after:
            return
        if counts[NOW] == (window + 1) * every:
            _record_single(numbers, counts, stages, records, i, window)


@kernel
def _record_single(
    numbers: np.ndarray, counts: np.ndarray, stages: int, records: Records, i: int, window: int
) -> None:
    left = youngest(numbers, counts)
    numbers[EVICTED] += numbers[COUNTED] - left
    numbers[COUNTED] = left
    if records.admitted.shape[1] > 0:
        records.admitted[i, window, 0] = numbers[ADMITTED]
    if records.completed.shape[1] > 0:
        records.completed[i, window, 0] = numbers[COMPLETED]
    if records.evicted.shape[1] > 0:
        records.evicted[i, window, 0] = numbers[EVICTED]
    if records.memory.shape[1] > 0:
        records.memory[i, window] = numbers[CAPACITY]
    if records.in_flight.shape[1] > 0:
        records.in_flight[i, window, 0] = in_flight(numbers, counts)
    if records.empty_stages.shape[1] > 0:
        records.empty_stages[i, window] = stages - (counts[TAIL] - counts[HEAD])
    if records.state.shape[1] > 0:
        numbers[UNITS + ((counts[TAIL] - 1) & ring_mask(numbers))] = left
        _state_of_one(numbers, counts, records.state[i, window, 0])
    numbers[ADMITTED] = numbers[COMPLETED] = numbers[EVICTED] = 0.0


@kernel
def _state_of_one(numbers: np.ndarray, counts: np.ndarray, state: np.ndarray) -> None:
    state[:] = 0.0
    mask = ring_mask(numbers)
    for label in range(counts[HEAD], counts[TAIL]):
        state[counts[NOW] - counts[BIRTHS + (label & mask)]] = numbers[UNITS + (label & mask)]


@kernel
def kinds_of(tables: Tables, group: Group, i: int) -> Kinds:
    """What units are made of in the system of a lane, and where it has classes, in its start."""
    system = group.system[i]
    e, f = tables.end[system], tables.end[system + 1]
    ended_from = np.zeros(f - e + 1, np.int64)
    by_class = tables.by_class[system] == 1
    kinds = 1 + tables.ends[f - 1] if by_class else 1
    k, m = tables.one[system], tables.one[system + 1] if by_class else tables.one[system]
    units = np.zeros((kinds, f - e, 4))
    masses = np.zeros((kinds, m - k))
    units[0] = tables.units[e:f]
    masses[0] = tables.shares[k:m]
    for j in range(f - e):
        ended_from[j + 1] = ended_from[j] + tables.classes[e + j]
    for kind in range(1, kinds):
        for c in range(m - k):
            masses[kind, c] = group.start[i, tables.rows[k + c], kind - 1]
        for j in range(f - e):
            for c in range(ended_from[j], m - k):
                mass = masses[kind, c]
                units[kind, j, mixed.HELD] += mass
                units[kind, j, mixed.INPUTS] += mass * tables.inputs[k + c]
                if c < ended_from[j + 1]:
                    units[kind, j, mixed.LEAVING] += mass
                    freed = tables.inputs[k + c] + tables.ends[e + j]
                    units[kind, j, mixed.FREED] += mass * freed
    return Kinds(tables.ends[e:f], units, masses, tables.rows[k:m], ended_from)


@kernel
def _record(
    numbers: np.ndarray,
    counts: np.ndarray,
    flows: np.ndarray,
    kinds: Kinds,
    records: Records,
    i: int,
    window: int,
) -> None:
    if records.admitted.shape[1] > 0:
        records.admitted[i, window] = flows[IN]
    if records.completed.shape[1] > 0:
        records.completed[i, window] = flows[OUT]
    if records.evicted.shape[1] > 0:
        records.evicted[i, window] = flows[LOST]
    if records.memory.shape[1] > 0:
        records.memory[i, window] = numbers[CAPACITY]
    if records.in_flight.shape[1] > 0:
        _in_flight(numbers, counts, kinds, records.in_flight[i, window])
    if records.empty_stages.shape[1] > 0:
        records.empty_stages[i, window] = _empty_stages(numbers, counts, kinds)
    if records.state.shape[1] > 0:
        _state(numbers, counts, kinds, records.state[i, window])


@kernel
def _in_flight(numbers: np.ndarray, counts: np.ndarray, kinds: Kinds, row: np.ndarray) -> None:
    row[:] = 0.0
    if kinds.rows.size == 0:
        row[0] = in_flight(numbers, counts)
        return
    ring = numbers.size - UNITS
    for label in range(counts[HEAD], counts[TAIL]):
        at = label & (ring - 1)
        age, j = counts[NOW] - counts[BIRTHS + at], 0
        while kinds.ends[j] <= age:
            j += 1
        for c in range(kinds.ended_from[j], kinds.rows.size):
            mass = kinds.masses[counts[BIRTHS + ring + at], c]
            row[kinds.rows[c]] += numbers[UNITS + at] * mass


@kernel
def _empty_stages(numbers: np.ndarray, counts: np.ndarray, kinds: Kinds) -> int:
    ring = numbers.size - UNITS
    empty = kinds.ends[-1] - (counts[TAIL] - counts[HEAD])
    for label in range(counts[HEAD], counts[TAIL]):
        at = label & (ring - 1)
        if counts[BIRTHS + ring + at] == FRESH:
            break
        age = counts[NOW] - counts[BIRTHS + at]
        alive, _ = mixed.holds(kinds, counts[BIRTHS + ring + at], age)
        empty += alive == 0.0  # its requests have completed
    return empty


@kernel
def _state(numbers: np.ndarray, counts: np.ndarray, kinds: Kinds, state: np.ndarray) -> None:
    if kinds.rows.size == 0:
        _state_of_one(numbers, counts, state[0])
        return
    state[:] = 0.0
    ring = numbers.size - UNITS
    for label in range(counts[HEAD], counts[TAIL]):
        at = label & (ring - 1)
        age, j = counts[NOW] - counts[BIRTHS + at], 0
        while kinds.ends[j] <= age:
            j += 1
        for c in range(kinds.ended_from[j], kinds.rows.size):
            mass = kinds.masses[counts[BIRTHS + ring + at], c]
            state[kinds.rows[c], age] = numbers[UNITS + at] * mass
