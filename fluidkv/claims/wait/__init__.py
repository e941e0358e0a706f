"""Statements of the paper WAIT."""

from types import ModuleType

from fluidkv.claims.wait import examples, fluid

MODULES: tuple[ModuleType, ...] = (
    fluid,
    examples,
)
"""In the order of the paper; each has its `CLAIMS`."""
