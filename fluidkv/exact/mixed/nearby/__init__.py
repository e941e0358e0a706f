"""Around the equilibrium: the linear map, its Lyapunov function, where nothing is evicted."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
