"""Statements of the paper Routing."""

from types import ModuleType

from fluidkv.papers.routing.claims import experiments

MODULES: tuple[ModuleType, ...] = (*experiments.MODULES,)
"""In the order of the paper, experiments last; each has its `CLAIMS`."""
