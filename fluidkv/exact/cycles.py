"""Balanced cycles of one class of requests, in exact rationals.

Source: Congestion, Propositions 5 to 8.
"""

from fluidkv.exact.gaps import canonical_gaps, cycle_name

__all__ = ["canonical_gaps", "cycle_name"]
