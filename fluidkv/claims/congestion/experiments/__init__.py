"""Sections 5 and 6 and Appendix D: policies, and what the numerical experiments show."""

from fluidkv.claims.congestion.experiments import mixing

MODULES = (mixing,)
"""In the order of the paper; each has its `CLAIMS`."""
