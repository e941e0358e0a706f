"""Statements of the paper Token-PD."""

from types import ModuleType

from fluidkv.papers.tokenpd.claims import (
    appendix_a,
    cost,
    experiments,
    guarantee,
    heap,
    memory,
    objectives,
    predictor,
    printed,
    returns,
    served,
)

MODULES: tuple[ModuleType, ...] = (
    cost,
    memory,
    returns,
    objectives,
    *guarantee.MODULES,
    predictor,
    heap,
    printed,
    served,
    *experiments.MODULES,
    *appendix_a.MODULES,
)
"""In the order of the paper; each has its `CLAIMS`."""
