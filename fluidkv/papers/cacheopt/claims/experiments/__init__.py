"""Experiments of CacheOPT in simulation: what is compared, left out and swept."""

from types import ModuleType

from fluidkv.papers.cacheopt.claims.experiments import ablations, compared, sensitivity

MODULES: tuple[ModuleType, ...] = (compared, ablations, sensitivity)
"""In the order of the paper; each has its `CLAIMS`."""
