"""Statements of the paper CacheOPT."""

from types import ModuleType

from fluidkv.papers.cacheopt.claims import embedding, selection, settings

MODULES: tuple[ModuleType, ...] = (settings, embedding, selection)
"""In the order of the paper; each has its `CLAIMS`."""
