"""Systems as the compiled loops of `following` take them, in parts that memory can hold."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from fluidkv.fluid.model import cohort_model
from fluidkv.processes import cores
from fluidkv.runs.batch import Watch, in_groups
from fluidkv.systems import Systems
from fluidkv.workload import System

if TYPE_CHECKING:
    from fluidkv.fluid.cohorts.lanes import Tables

_LARGEST, _FULL = 1024, 32
"""Trajectories of a call, which cannot be interrupted: some seconds at most; and what fills a pool
(`following`)."""


def parts_of(of: System | Systems, numbers: int) -> Iterator[tuple[slice, System | Systems]]:
    """Systems one after the other: at most some ten million numbers at a time.

    Args:
        of: one system is one part.
        numbers: that a system needs.
    """
    if not isinstance(of, Systems):
        yield slice(0, 1), of
        return
    size = max(1, 2**23 // max(numbers, 1))
    for first in range(0, len(of), size):
        part = slice(first, min(first + size, len(of)))
        yield part, of[part]


def longest_of(of: System | Systems) -> int:
    """The most stages of a system."""
    return int(of.longest_decode.max()) if isinstance(of, Systems) else of.workload.longest_decode


def tables_of(of: System | Systems, longest: int) -> "Tables":
    """Of one system or of many, for as many ages as the longest of all has."""
    from fluidkv.fluid.cohorts.lanes import Tables

    model = cohort_model(of)
    stages = model.weights.shape[-1]
    weights, survival = (x.reshape(-1, stages) for x in (model.weights, model.survival))
    room = ((0, 0), (0, longest - stages))
    weights, survival = np.pad(weights, room), np.pad(survival, room)
    here = weights > 0
    divisor = np.where(here, weights, 1.0)
    growth = np.zeros_like(weights)
    growth[:, 1:] = weights[:, 1:] / divisor[:, :-1]
    after = np.zeros_like(survival)
    after[:, :-1] = survival[:, 1:]
    return Tables(
        ages=here.sum(axis=1),
        weights=weights,
        capacity=np.atleast_1d(model.capacity).astype(np.float64),
        growth=growth,
        equilibrium=weights / weights.sum(axis=1, keepdims=True),
        alive=survival / divisor,
        leaving=(survival - after) / divisor,
    )


def shares_of(
    tables: "Tables", masses: Float[np.ndarray, "system batch age"]
) -> Float[np.ndarray, "trajectory age"]:
    """Memory shares of masses."""
    shares = masses * tables.weights[:, None] / tables.capacity[:, None, None]
    return np.ascontiguousarray(shares.reshape(-1, masses.shape[2]))


def masses_of(
    tables: "Tables", shares: Float[np.ndarray, "trajectory age"]
) -> Float[np.ndarray, "system batch age"]:
    """The inverse."""
    divisor = np.where(tables.weights > 0, tables.weights, 1.0)[:, None]
    by_system = shares.reshape(len(divisor), -1, shares.shape[1])
    return by_system * tables.capacity[:, None, None] / divisor


def in_threads(call: Callable[[Int[np.ndarray, " lane"]], None], count: int) -> None:
    """Groups of so many trajectories, on all cores."""
    threads = cores()
    pools = -(-count // (4 * threads * _FULL))
    size = min(_LARGEST, pools * _FULL)
    in_groups(call, count, size, min(threads, -(-count // size)), Watch())
