"""Statements of the paper WAIT."""

from types import ModuleType

from fluidkv.claims.wait import examples, fluid, lemmas_1_to_3

MODULES: tuple[ModuleType, ...] = (
    fluid,
    examples,
    lemmas_1_to_3,
)
"""In the order of the paper; each has its `CLAIMS`."""
