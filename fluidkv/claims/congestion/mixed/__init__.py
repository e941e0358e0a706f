"""Section 4 and Appendix B: requests of several lengths."""

from fluidkv.claims.congestion.mixed import examples, exit, figure_3, identities, pulse

MODULES = (
    examples,
    figure_3,
    identities,
    exit,
    pulse,
)
"""In the order of the paper; each has its `CLAIMS`."""
