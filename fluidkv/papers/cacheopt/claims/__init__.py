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
    given,
    hoeffding,
    observation_3,
    printed,
    restoring,
    selection,
    settings,
    spans,
)

MODULES: tuple[ModuleType, ...] = (
    settings,
    given,
    observation_3,
    restoring,
    hoeffding,
    coverage,
    direction,
    confidence,
    embedding,
    selection,
    amortising,
    curves,
    *experiments.MODULES,
    printed,
    spans,
)
"""In the order of the paper, experiments and what holds all over it last; each has its `CLAIMS`."""
