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
    fast = tables is not None and tables.ends.size == 1 and not tables.by_class[0]
    return tables if fast else None


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
