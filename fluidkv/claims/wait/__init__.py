"""Statements of the paper WAIT."""

from types import ModuleType

from fluidkv.claims.wait import (
    examples,
    fluid,
    lemmas_1_to_3,
    lemmas_4_to_6,
    proposition_1,
    propositions_2_to_4,
)

MODULES: tuple[ModuleType, ...] = (
    fluid,
    proposition_1,
    propositions_2_to_4,
    examples,
    lemmas_1_to_3,
    lemmas_4_to_6,
)
"""In the order of the paper; each has its `CLAIMS`."""
