"""Statements of the paper CacheOPT."""

from types import ModuleType

from fluidkv.papers.cacheopt.claims import (
    amortising,
    confidence,
    coverage,
    curves,
    direction,
    embedding,
    given,
    hoeffding,
    printed,
    restoring,
    settings,
)

MODULES: tuple[ModuleType, ...] = (
    restoring,
    settings,
    given,
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
