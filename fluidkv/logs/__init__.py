"""A measured run as people have it: requests, ticks and settings, from whatever files there are."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
