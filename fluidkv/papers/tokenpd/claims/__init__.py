"""Statements of the paper Token-PD."""

from types import ModuleType

from fluidkv.papers.tokenpd.claims import (
    cost,
    heap,
    memory,
    objectives,
    predictor,
    printed,
    returns,
    served,
    words,
)

MODULES: tuple[ModuleType, ...] = (
    cost,
    memory,
    returns,
    objectives,
    predictor,
    heap,
    words,
    printed,
    served,
)
"""In the order of the paper; each has its `CLAIMS`."""
