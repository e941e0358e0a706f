"""Statements of the paper Token-PD."""

from types import ModuleType

from fluidkv.papers.tokenpd.claims import (
    appendix_a,
    compared,
    cost,
    guarantee,
    heap,
    memory,
    objectives,
    predictor,
    printed,
    returns,
    served,
    simulated,
    words,
)

MODULES: tuple[ModuleType, ...] = (
    cost,
    memory,
    returns,
    objectives,
    *guarantee.MODULES,
    predictor,
    heap,
    words,
    printed,
    served,
    simulated,
    compared,
    *appendix_a.MODULES,
)
"""In the order of the paper; each has its `CLAIMS`."""
