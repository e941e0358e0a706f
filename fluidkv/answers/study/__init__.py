"""The whole answer about one system: equilibrium, certified stability, perturbed starts, a log."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
