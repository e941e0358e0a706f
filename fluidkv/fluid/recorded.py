"""What fronts of a map can record, and how it is labelled."""

import math
from collections.abc import Iterable

import numpy as np
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.fluid.quantities import QUANTITIES
from fluidkv.labels import Column, dataset
from fluidkv.processes import free_memory
from fluidkv.systems import Systems
from fluidkv.workload import System

RECORDS: tuple[str, ...] = (
    *("admitted", "completed", "evicted"),
    *("memory", "in_flight", "empty_stages", "state"),
)
"""What `simulate` can record.

>>> from fluidkv.fluid.recorded import RECORDS
>>> RECORDS
('admitted', 'completed', 'evicted', 'memory', 'in_flight', 'empty_stages', 'state')
>>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
>>> found = fk.simulate(system, [[4, 3, 0]], iterations=12, record=RECORDS)
>>> all(name in found for name in RECORDS)
True
"""


_FINAL = "final_"


def checked_record(record: Iterable[str], allowed: tuple[str, ...] = RECORDS) -> tuple[str, ...]:
    """The names in their fixed order: the same set of names is the same compiled function.

    Raises:
        InputError: a name that is none.
    """
    names = (record,) if isinstance(record, str) else tuple(record)
    for name in names:
        if name not in allowed:
            raise InputError("record", name, "any of " + ", ".join(allowed))
    return tuple(name for name in allowed if name in names)


def dims_of(name: str) -> tuple[str, ...]:
    """Of a record; or of what is left at the end, "final_" and what it is."""
    windows = () if name.startswith(_FINAL) else ("iteration",)
    return ("batch", *windows, *QUANTITIES[name.removeprefix(_FINAL)].dims)


def shape_of(name: str, sizes: dict[str, int]) -> tuple[int, ...]:
    """Without the axis of systems."""
    return tuple(sizes[dim] for dim in dims_of(name))


def check_room(names: Iterable[str], sizes: dict[str, int], systems: int = 1) -> None:
    """Before anything runs: whether what is to be found fits into the memory that is free.

    Args:
        names: of records, and "final_state" where it is kept.
        sizes: of batch, iteration (windows), class and stage, of each system.
        systems: how many.

    Raises:
        InputError: it does not; the line says how many trajectories would.
    """
    free = free_memory()
    whole = 8 * systems * sum(math.prod(shape_of(name, sizes)) for name in names)
    if free is None or whole <= free:
        return
    batch = systems * sizes["batch"]
    allowed = (
        f"at most {batch * free // whole:,} at once, for which {free / 1e9:.1f} GB are free; or "
        "fewer records, longer windows (`every`), no `final_state`"
    )
    raise InputError("start", f"{batch:,} trajectories, {whole / 1e9:.1f} GB of results", allowed)


def labelled(
    records: dict[str, np.ndarray],
    iterations: int,
    every: int,
    *,
    of: System | Systems | None = None,
    coords: dict[str, Column] | None = None,
) -> xr.Dataset:
    """A dataset by the convention, of records and of what is left at the end.

    Args:
        records: by name, see `dims_of`; of a map of one row, without an axis of classes.
        of: what they are of; of Systems, their axis comes first, with their coordinates.
        coords: others.
    """
    first = ("system",) if isinstance(of, Systems) else ()
    variables: dict[str, Column] = {}
    for name, values in records.items():
        quantity = QUANTITIES[name.removeprefix(_FINAL)]
        dims = (*first, *dims_of(name))
        if values.ndim < len(dims):
            dims = tuple(dim for dim in dims if dim != "class")
        title = quantity.title + " at the end" * name.startswith(_FINAL)
        variables[name] = (dims, values, quantity.units, title)
    windows = np.arange(every, iterations + 1, every)
    labels: dict[str, Column] = {
        "iteration": ("iteration", windows, "iteration", "iteration n, of the state X^n")
    }
    if isinstance(of, Systems):
        labels |= of.described(variables)
    return dataset(
        variables,
        labels | (coords or {}),
        system=of if isinstance(of, System) else None,
        every=int(every),
        iterations=int(iterations),
    )
