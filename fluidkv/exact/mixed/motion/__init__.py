"""How the roots of F move with the input length: limits, drift, branches."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
