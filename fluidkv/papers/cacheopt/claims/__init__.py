"""Statements of the paper CacheOPT."""

from types import ModuleType

from fluidkv.papers.cacheopt.claims import embedding, experiments, selection, settings

MODULES: tuple[ModuleType, ...] = (settings, embedding, selection, *experiments.MODULES)
"""In the order of the paper; each has its `CLAIMS`."""
