"""Exact rational and ball arithmetic: roots, thresholds, cycles, partitions of classes. No JAX."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
