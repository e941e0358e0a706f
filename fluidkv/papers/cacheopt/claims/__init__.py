"""Statements of the paper CacheOPT."""

from types import ModuleType

from fluidkv.papers.cacheopt.claims import (
    amortising,
    confidence,
    coverage,
    curves,
    direction,
    embedding,
    hoeffding,
    printed,
    restoring,
    settings,
)

MODULES: tuple[ModuleType, ...] = (
    restoring,
    settings,
    hoeffding,
    coverage,
    direction,
    confidence,
    embedding,
    amortising,
    curves,
    printed,
)
"""In the order of the paper; each has its `CLAIMS`."""
