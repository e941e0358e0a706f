"""Section 3 and Appendix A: requests that are all alike."""

from fluidkv.papers.congestion.claims.one_class import (
    cascade,
    cascade_blocks,
    cascade_example_3,
    cycles,
    envelope,
    equations,
    examples,
    figure_9,
    theorem_2,
    theorem_2_local,
    waste,
)

MODULES = (
    equations,
    cycles,
    envelope,
    examples,
    cascade,
    cascade_blocks,
    cascade_example_3,
    figure_9,
    waste,
    theorem_2,
    theorem_2_local,
)
"""In the order of the paper; each has its `CLAIMS`."""
