"""Theory that only claims call: comparators, searches, bounds and the proofs' own quantities."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
