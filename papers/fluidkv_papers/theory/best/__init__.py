"""The best victims of all, on small cases: exact search, and how far from it each rule is."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
