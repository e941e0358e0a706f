"""Section 5 and appendix B: what is printed there, and simulations of it."""

from types import ModuleType

from fluidkv.papers.routing.claims.experiments import (
    averages,
    one_worker,
    servers,
    settings,
    simulated,
    table_2,
    table_3,
)

MODULES: tuple[ModuleType, ...] = (
    settings,
    table_2,
    table_3,
    one_worker,
    simulated,
    servers,
    averages,
)
"""In the order of the paper; each has its `CLAIMS`."""
