"""What `simulate` can record, and how it is labelled."""

import math
from collections.abc import Iterable

import numpy as np
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.labels import Column, dataset
from fluidkv.processes import free_memory
from fluidkv.systems import Systems
from fluidkv.workload import System

_COUNTS = ("batch", "iteration", "class")
# name -> dimensions, units, long name.
_KNOWN: dict[str, tuple[tuple[str, ...], str, str]] = {
    "admitted": (_COUNTS, "request", "requests admitted"),
    "completed": (_COUNTS, "request", "requests completed"),
    "evicted": (_COUNTS, "request", "requests evicted"),
    "memory": (("batch", "iteration"), "token", "memory in use"),
    "in_flight": (_COUNTS, "request", "requests running"),
    "empty_stages": (("batch", "iteration"), "1", "stages without mass (eviction level)"),
    "state": (("batch", "iteration", "class", "stage"), "request", "mass by class and stage"),
}
_FINAL = (("batch", "class", "stage"), "request", "mass by class and stage at the end")

RECORDS: tuple[str, ...] = tuple(_KNOWN)
"""What `simulate` can record.

>>> from fluidkv.fluid import RECORDS
>>> RECORDS
('admitted', 'completed', 'evicted', 'memory', 'in_flight', 'empty_stages', 'state')
>>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
>>> found = fk.simulate(system, [[4, 3, 0]], iterations=12, record=RECORDS)
>>> all(name in found for name in RECORDS)
True
"""


def checked_record(record: Iterable[str]) -> tuple[str, ...]:
    """The names in their fixed order: the same set of names is the same compiled function.

    Raises:
        InputError: a name that is none.
    """
    asked = (record,) if isinstance(record, str) else tuple(record)
    for name in asked:
        if name not in RECORDS:
            raise InputError("record", name, "any of " + ", ".join(RECORDS))
    return tuple(name for name in RECORDS if name in asked)


def check_counts(iterations: object, every: object) -> None:
    """Raises:
    InputError: not whole numbers of at least 1, or iterations that are no multiple of `every`.
    """
    for name, value in (("iterations", iterations), ("every", every)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise InputError(name, value, "an integer of at least 1")
    if iterations % every:  # pyright: ignore[reportOperatorIssue]  # both are integers here
        raise InputError("iterations", iterations, f"a multiple of every={every}")


def shape_of(name: str, sizes: dict[str, int]) -> tuple[int, ...]:
    """Of a record, or of "final_state", without the axis of systems."""
    dims = _FINAL[0] if name == "final_state" else _KNOWN[name][0]
    return tuple(sizes[dim] for dim in dims)


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
    final: np.ndarray | None,
    records: dict[str, np.ndarray],
    iterations: int,
    every: int,
    *,
    of: System | Systems | None = None,
) -> xr.Dataset:
    """A dataset by the convention; of Systems, with their axis first and their coordinates."""
    found = {name: (*_KNOWN[name], values) for name, values in records.items()}
    if final is not None:
        found["final_state"] = (*_FINAL, final)
    first = ("system",) if isinstance(of, Systems) else ()
    variables: dict[str, Column] = {
        name: ((*first, *dims), values, units, title)
        for name, (dims, units, title, values) in found.items()
    }
    windows = np.arange(every, iterations + 1, every)
    coords: dict[str, Column] = {
        "iteration": ("iteration", windows, "iteration", "iteration n, of the state X^n")
    }
    if isinstance(of, Systems):
        coords |= of.described(variables)
    return dataset(
        variables,
        coords,
        system=of if isinstance(of, System) else None,
        every=int(every),
        iterations=int(iterations),
    )
