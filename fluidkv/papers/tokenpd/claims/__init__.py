"""Statements of the paper Token-PD."""

from types import ModuleType

MODULES: tuple[ModuleType, ...] = ()
"""In the order of the paper; each has its `CLAIMS`."""
