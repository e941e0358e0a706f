"""A model and a start, as the literal reference of labels takes them."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fluidkv.fluid.positions.reference import Mix, Positions
from fluidkv.fluid.positions.tables import Tables, of_systems
from fluidkv.workload import System


def lengths(system: System) -> list[tuple[int, int]]:
    return [(c.input_length, c.decode_length) for c in system.workload.classes]


def exact(system: System, rows: Sequence[Sequence[Fraction]]) -> Positions:
    """Any state, in rationals: each stage is a label of its own mix."""
    own = lengths(system)
    fresh = Mix.of(own, [c.share for c in system.workload.classes])
    start = []
    for stage in range(system.workload.longest_decode):
        masses = [row[stage] if stage < len(row) else Fraction(0) for row in rows]
        start.append((Mix.of(own, masses), Fraction(1 if any(masses) else 0)))
    return Positions(fresh, system.capacity, start)


def in_floats(system: System, tables: Tables, state: np.ndarray) -> Positions:
    """A state (row, stage) of the only system of the tables, as the compiled engine has it."""
    ends, units = tables.ends.tolist(), tables.units.T.tolist()
    capacity = float(system.capacity)
    if not tables.by_class[0]:
        fresh = Mix(ends, *units, masses=[1.0], end_of=[len(ends) - 1])
        return Positions(fresh, capacity, [(fresh, x) for x in state[0].tolist()])
    shares = [float(c.share) for c in system.workload.classes]
    end_of = [ends.index(c.decode_length) for c in system.workload.classes]
    fresh = Mix(ends, *units, masses=shares, end_of=end_of)
    columns = state.T.tolist()
    start = [(Mix.of(lengths(system), x), 1.0 if any(x) else 0.0) for x in columns]
    return Positions(fresh, capacity, start)


def rectangle(system: System, rows: Sequence[Sequence[Fraction]]) -> np.ndarray:
    """Ragged rows as floats (class, stage), zero beyond a class's stages."""
    state = np.zeros((len(rows), system.workload.longest_decode))
    for k, row in enumerate(rows):
        state[k, : len(row)] = [float(x) for x in row]
    return state


def packed(system: System, *, by_class: bool) -> Tables:
    return of_systems([system], by_class=by_class)
