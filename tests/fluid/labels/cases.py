"""A system and a start, as the kernel takes them: in floats, and in rationals."""

from collections.abc import Sequence
from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from fluidkv.fluid import class_model, cohort_model
from fluidkv.fluid.labels.engine import RECORDS, looks_of
from fluidkv.fluid.labels.lane import Windows, new_lanes
from fluidkv.fluid.labels.tables import Tables, of_model
from fluidkv.runs.interpreted import interpreted
from fluidkv.systems import Systems
from fluidkv.workload import System


def packed(*systems: System, by_class: bool) -> Tables:
    of = systems[0] if len(systems) == 1 else Systems.of(systems)
    tables = of_model((class_model if by_class else cohort_model)(of))
    assert tables is not None
    return tables


def rectangle(system: System, rows: Sequence[Sequence[Fraction]]) -> np.ndarray:
    """Ragged rows as floats (class, stage), zero beyond a class's stages."""
    return exact_rectangle(system, rows).astype(np.float64)


def exact_rectangle(system: System, rows: Sequence[Sequence[Fraction]]) -> np.ndarray:
    """The same in rationals."""
    state = np.full((len(rows), system.workload.longest_decode), Fraction(0))
    for k, row in enumerate(rows):
        state[k, : len(row)] = row
    return state


def exact_tables(system: System, *, by_class: bool) -> Tables:
    """Tables in rationals, from what their fields mean."""
    classes = system.workload.classes
    stages = range(system.workload.longest_decode)
    alive = [[c.share * (c.decode_length > s) for c in classes] for s in stages]
    held = [
        sum(p * (c.input_length + 1 + s) for p, c in zip(row, classes, strict=True))
        for s, row in enumerate(alive)
    ]
    by_class = by_class and len(classes) > 1
    ends = [c.decode_length for c in classes]
    groups = [[c] for c in classes] if by_class else _by_length(system)
    ends = [group[0].decode_length for group in groups]
    shares = [sum(c.share for c in group) for group in groups]
    freed = [
        sum(c.share * (c.input_length + c.decode_length + 1) for c in group) / share
        for group, share in zip(groups, shares, strict=True)
    ]
    return Tables(
        sizes=np.array([[len(stages), len(groups), int(by_class)]]),
        unit=np.array([[[v, sum(row)] for v, row in zip(held, alive, strict=True)]], object),
        decode=np.array([ends]),
        parts=np.array([list(zip(shares, freed, strict=True))], object),
    )


def _by_length(system: System) -> list[list]:
    lengths = sorted({c.decode_length for c in system.workload.classes})
    return [[c for c in system.workload.classes if c.decode_length == end] for end in lengths]


def exact_run(
    tables: Tables, state: np.ndarray, capacity: Fraction, iterations: int
) -> SimpleNamespace:
    """All records of a trajectory in rationals, by the kernel as it is written."""
    start = state[None]
    (_, rows, stages), one = start.shape, np.zeros(1, np.int64)
    lanes = new_lanes(tables, one, start, np.array([capacity], object), one + iterations)
    shapes = {"empty_stages": (), "state": (rows, stages)}
    windows = Windows(
        *(
            np.full((1, iterations, *shapes.get(name, (rows,))), Fraction(0))
            for name in Windows._fields[:-1]
        ),
        final=np.full(start.shape, Fraction(0)),
    )
    kernel = interpreted("fluidkv.fluid.labels.kernel")
    kernel.advance_lanes(tables, lanes, windows, looks_of(tables, 1), iterations, 1)
    assert set(RECORDS) - {"memory"} == set(windows._fields) - {"final"}
    return SimpleNamespace(**{name: values[0] for name, values in windows._asdict().items()})
