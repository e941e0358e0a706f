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
    observation_3,
    printed,
    settings,
)

MODULES: tuple[ModuleType, ...] = (
    settings,
    observation_3,
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
