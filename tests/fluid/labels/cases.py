"""A model and a start, as the literal reference of labels takes them."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fluidkv.fluid.labels.lane import ONE_ANEW, SLACK
from fluidkv.fluid.labels.reference import Labels, Unit
from fluidkv.fluid.labels.tables import ALIVE, CLASSES, GAINED, HELD, LEAVING, Tables, of_systems
from fluidkv.workload import System


def order(system: System) -> list[int]:
    """Classes by their decode lengths."""
    decode = [c.decode_length for c in system.workload.classes]
    return sorted(range(len(decode)), key=decode.__getitem__)


def exact(system: System, rows: Sequence[Sequence[Fraction]], turn: int = 7) -> Labels:
    """Any state (class, stage), in rationals: each stage is a label of its own mix."""
    classes = [system.workload.classes[k] for k in order(system)]
    unit = Unit.of([(c.input_length, c.decode_length) for c in classes], [c.share for c in classes])
    ragged = [rows[k] for k in order(system)]
    start: list = []
    for stage in range(system.workload.longest_decode):
        masses = [row[stage] if stage < len(row) else Fraction(0) for row in ragged]
        start.append(masses if len(classes) > 1 else masses[0])
    return Labels(unit, system.capacity, start, turn)


def in_floats(system: System, tables: Tables, state: np.ndarray) -> Labels:
    """A state (row, stage) of the only system of the tables, as the kernel has it."""
    own = [system.workload.classes[k] for k in order(system)]
    classes = [(c.input_length, c.decode_length) for c in own]
    shares = [float(c.share) for c in own]
    by_class = tables.sizes[0, 2] > 0
    if not by_class:
        classes, shares = [(0, int(tables.stages[0]))], [1.0]
    unit = Unit(
        classes,
        shares,
        tables.end[0].tolist(),
        leaving=tables.freed[0, :, LEAVING].tolist(),
        gained=tables.freed[0, :, GAINED].tolist(),
        alive=tables.unit[0, :, ALIVE].tolist(),
        held=tables.unit[0, :, HELD].tolist(),
    )
    start = state[order(system)].T.tolist() if by_class else state[0].tolist()
    one = len(tables.end[0]) == 1 and not tables.sizes[0, CLASSES]
    turn = int(tables.stages[0]) * (ONE_ANEW if one else 1)
    return Labels(unit, float(system.capacity), start, turn, SLACK)


def rectangle(system: System, rows: Sequence[Sequence[Fraction]]) -> np.ndarray:
    """Ragged rows as floats (class, stage), zero beyond a class's stages."""
    state = np.zeros((len(rows), system.workload.longest_decode))
    for k, row in enumerate(rows):
        state[k, : len(row)] = [float(x) for x in row]
    return state


def packed(system: System, *, by_class: bool) -> Tables:
    return of_systems([system], by_class=by_class)
