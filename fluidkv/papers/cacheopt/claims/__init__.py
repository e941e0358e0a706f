"""Statements of the paper CacheOPT."""

from types import ModuleType

from fluidkv.papers.cacheopt.claims import (
    amortising,
    confidence,
    coverage,
    curves,
    direction,
    embedding,
    experiments,
    hoeffding,
    printed,
    restoring,
    selection,
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
    selection,
    amortising,
    curves,
    printed,
    *experiments.MODULES,
)
"""In the order of the paper; each has its `CLAIMS`."""
