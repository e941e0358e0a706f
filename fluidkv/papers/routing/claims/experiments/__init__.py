"""Section 5 and appendix B: what is printed there, and simulations of it."""

from types import ModuleType

MODULES: tuple[ModuleType, ...] = ()
"""In the order of the paper; each has its `CLAIMS`."""
