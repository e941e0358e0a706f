"""Which engine computes a model: by what it is, where it runs, and how fast each was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fluidkv.errors import InputError
from fluidkv.fluid.model import MassModel, has_one_row
from fluidkv.fluid.positions.tables import Tables, of_model
from fluidkv.runs.devices import local_devices

if TYPE_CHECKING:  # its kernels are loaded where one is called
    from fluidkv.fluid.positions.engine import Advanced

OF_MANY = ("auto", "plain", "positions")  # engines for many systems side by side
ENGINES = (*OF_MANY, "row")

_LONG = 16
"""Stages from which the twin in JAX is taken: on a CPU it takes less time than the plain map at 40
and more at 8. On an accelerator neither has been measured."""


def on_cpu() -> bool:
    """Whether JAX computes on the cores of this machine."""
    return local_devices()[0].platform == "cpu"


def takes_twin(engine: str, stages: int, record: tuple[str, ...]) -> bool:
    """Whether one class of so many stages is for the twin in JAX: it tells where a trajectory
    ends, and nothing of the way."""
    return engine == "auto" and not record and stages >= _LONG and not on_cpu()


def chosen_tables(model: MassModel, engine: str, lanes: int) -> Tables | None:
    """What `advance` needs of the model, or None where each stage is computed.

    Args:
        lanes: trajectories.

    Raises:
        InputError: an engine that is none, or "positions" for a model that is none of `class_model`
            and `cohort_model`.
    """
    if engine not in ENGINES:
        raise InputError("engine", engine, "any of " + ", ".join(ENGINES))
    if engine in ("plain", "row") or (engine == "auto" and not on_cpu()):
        return None
    tables = of_model(model)
    if engine == "positions":
        if tables is None:
            raise InputError("engine", engine, "auto or plain for weights of one's own")
        return tables
    return tables if tables is not None and _faster(tables, model.weights, lanes) else None


def takes_row(model: MassModel, engine: str) -> bool:
    """Whether `advance_row` computes what `advance` does not.

    Raises:
        InputError: it was asked for, and the model has several rows, or a stage without weight.
    """
    fits = has_one_row(model)
    if engine == "row" and not fits:
        raise InputError("engine", engine, "auto or plain for a model of several rows")
    return engine == "row" or (engine == "auto" and fits and on_cpu())


def _faster(tables: Tables, weights: np.ndarray, lanes: int) -> bool:
    """Whether following labels takes less time than computing each mass, on one core.

    `benchmarks/positions.py` measured: the plain map takes 1.5 ns a mass, a row of its own 1.2 and
    4.4 for all trajectories together; labels of one class take less whatever its length; those of
    several ends 15 ns and 6.5 for each end.
    """
    ends = tables.ends.size
    mass = 1.2 + 4.4 / lanes if len(weights) == 1 else 1.5
    return ends == 1 or mass * weights.size > 15 + 6.5 * ends


def by_positions(
    tables: Tables,
    model: MassModel,
    state: np.ndarray,
    iterations: int,
    record: tuple[str, ...],
    every: int,
) -> Advanced:
    """`advance` of the one system of a model, from starts (batch, class, stage)."""
    from fluidkv.fluid.positions.engine import advance

    lanes = len(state)
    return advance(
        tables,
        np.zeros(lanes, np.int64),
        state,
        np.broadcast_to(model.capacity, lanes),
        iterations=iterations,
        record=record,
        every=every,
    )


def by_twin(
    model: MassModel, state: np.ndarray, iterations: int, engine: str, record: tuple[str, ...]
) -> np.ndarray | None:
    """Final states of the one system of a model by the twin, None where it is not for it."""
    if not takes_twin(engine, state.shape[-1], record):
        return None
    tables = of_model(model)
    # Weights of one class, requests as units.
    if tables is None or len(model.weights) > 1 or tables.ends.size > 1 or tables.units[0, 0] != 1:
        return None
    from fluidkv.fluid.positions.on_device import advance_on_device

    lanes, stages = len(state), state.shape[-1]
    return advance_on_device(
        np.full(lanes, tables.units[0, 1]),
        np.full(lanes, stages),
        np.broadcast_to(model.capacity, lanes),
        state[:, 0],
        iterations,
    )[:, None]
