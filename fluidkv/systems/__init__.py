"""Many systems as arrays: exact, padded where the numbers of classes differ, with coordinates."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
