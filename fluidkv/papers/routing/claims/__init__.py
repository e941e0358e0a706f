"""Statements of the paper Routing."""

from types import ModuleType

from fluidkv.papers.routing.claims import caches, experiments

MODULES: tuple[ModuleType, ...] = (*experiments.MODULES, caches)
"""In the order of the paper, experiments last; each has its `CLAIMS`."""
