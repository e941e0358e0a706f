"""Exact rational and ball arithmetic: roots, thresholds, cycles, partitions of classes. No JAX."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
