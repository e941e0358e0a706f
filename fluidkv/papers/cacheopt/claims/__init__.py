"""Statements of the paper CacheOPT."""

from types import ModuleType

from fluidkv.papers.cacheopt.claims import embedding, settings

MODULES: tuple[ModuleType, ...] = (settings, embedding)
"""In the order of the paper; each has its `CLAIMS`."""
