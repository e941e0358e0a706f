"""Appendix A, line by line."""

from types import ModuleType

from fluidkv.papers.tokenpd.claims.appendix_a import descent, gap, lagrangian, payoff, rounding

MODULES: tuple[ModuleType, ...] = (lagrangian, payoff, gap, descent, rounding)
"""In the order of the paper; each has its `CLAIMS`."""
