"""Which engine computes a model: by what it is, where it runs, and how fast each was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import numpy as np

from fluidkv.errors import InputError
from fluidkv.fluid.model import MassModel
from fluidkv.fluid.positions.tables import Tables, of_model

if TYPE_CHECKING:  # its kernels are loaded where one is called
    from fluidkv.fluid.positions.engine import Advanced

ENGINES = ("auto", "plain", "positions")


def chosen_tables(model: MassModel, engine: str) -> Tables | None:
    """What `advance` needs of the model, or None where the plain map computes it.

    Raises:
        InputError: an engine that is none, or "positions" for a model that is none of `class_model`
            and `cohort_model`.
    """
    if engine not in ENGINES:
        raise InputError("engine", engine, "any of " + ", ".join(ENGINES))
    if engine == "plain" or (engine == "auto" and jax.default_backend() != "cpu"):
        return None
    tables = of_model(model)
    if engine == "positions":
        if tables is None:
            raise InputError("engine", engine, "auto or plain for weights of one's own")
        return tables
    return tables if tables is not None and _faster(tables, model.weights.size) else None


def _faster(tables: Tables, masses: int) -> bool:
    """Whether following labels takes less time than computing so many masses, on one core.

    `benchmarks/positions.py` measured: the plain map takes 1.5 ns a mass; labels of one class take
    less whatever its length; those of several ends 15 ns and 6.5 for each end.
    """
    ends = tables.ends.size
    return ends == 1 or 1.5 * masses > 15 + 6.5 * ends


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
