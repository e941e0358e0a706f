"""The price rule beside what it is compared with: comparators, certified runs, bounds, searches."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
