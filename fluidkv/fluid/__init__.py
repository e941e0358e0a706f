"""The mass model in JAX, batched: starts, trajectories, what becomes of them."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
