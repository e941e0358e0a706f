"""Statements of the paper CacheOPT."""

from types import ModuleType

from fluidkv.papers.cacheopt.claims import embedding, restoring, settings

MODULES: tuple[ModuleType, ...] = (restoring, settings, embedding)
"""In the order of the paper; each has its `CLAIMS`."""
