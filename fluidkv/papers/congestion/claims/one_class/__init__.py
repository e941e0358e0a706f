"""Sections 2 and 3 and Appendix A: requests that are all alike."""

from fluidkv.papers.congestion.claims.one_class import (
    cascade,
    cascade_blocks,
    cycles,
    envelope,
    equations,
    example_3,
    example_6,
    examples,
    families,
    figure_9,
    spread,
    theorem_2,
    theorem_2_local,
    waste,
)

MODULES = (
    equations,
    cycles,
    families,
    envelope,
    examples,
    spread,
    cascade,
    cascade_blocks,
    example_6,
    example_3,
    figure_9,
    waste,
    theorem_2,
    theorem_2_local,
)
"""In the order of the paper; each has its `CLAIMS`."""
