"""Which worker gets a request: routers, workers with caches, balance."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
