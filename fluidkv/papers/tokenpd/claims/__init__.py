"""Statements of the paper Token-PD."""

from types import ModuleType

from fluidkv.papers.tokenpd.claims import appendix_a, guarantee

MODULES: tuple[ModuleType, ...] = (*guarantee.MODULES, *appendix_a.MODULES)
"""In the order of the paper; each has its `CLAIMS`."""
