"""Sweeps: systems, policies, engines, seeds and settings through any analysis, into a store."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
