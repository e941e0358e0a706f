"""Section 4 and Appendix B: requests of several lengths."""

from fluidkv.claims.congestion.mixed import examples, figure_3, identities

MODULES = (
    examples,
    figure_3,
    identities,
)
"""In the order of the paper; each has its `CLAIMS`."""
