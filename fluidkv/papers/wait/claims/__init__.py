"""Statements of the paper WAIT."""

from types import ModuleType

from fluidkv.papers.wait.claims import (
    examples,
    fluid,
    lemma_6,
    lemmas_1_to_3,
    lemmas_4_and_5,
    nested_blind,
    nested_coupling,
    nested_design,
    nested_eta,
    nested_example_3,
    nested_frequency,
    nested_memory,
    nested_short_memory,
    nested_throughput,
    nested_varying,
    proposition_1,
    propositions_2_to_4,
    theorem_1,
    thresholds,
)

MODULES: tuple[ModuleType, ...] = (
    fluid,
    proposition_1,
    examples,
    propositions_2_to_4,
    thresholds,
    theorem_1,
    lemmas_1_to_3,
    lemmas_4_and_5,
    lemma_6,
    nested_example_3,
    nested_blind,
    nested_memory,
    nested_throughput,
    nested_frequency,
    nested_short_memory,
    nested_coupling,
    nested_eta,
    nested_varying,
    nested_design,
)
"""In the order of the paper; each has its `CLAIMS`."""
