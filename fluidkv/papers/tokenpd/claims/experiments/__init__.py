"""Experiments of Token-PD in simulation: its tables, and a price beside what people use."""

from types import ModuleType

from fluidkv.papers.tokenpd.claims.experiments import compared, simulated

MODULES: tuple[ModuleType, ...] = (simulated, compared)
"""In the order of the paper; each has its `CLAIMS`."""
