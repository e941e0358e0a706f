"""Statements of the paper Routing."""

from types import ModuleType

from fluidkv.papers.routing.claims import (
    algorithm_1,
    caches,
    experiments,
    formulation,
    lemmas,
    random_requests,
    ratios_of_lru,
    ratios_of_rlt,
)

MODULES: tuple[ModuleType, ...] = (
    formulation,
    algorithm_1,
    lemmas,
    ratios_of_lru,
    ratios_of_rlt,
    random_requests,
    *experiments.MODULES,
    caches,
)
"""In the order of the paper, experiments last; each has its `CLAIMS`."""
