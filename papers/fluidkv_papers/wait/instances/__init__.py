"""Systems on which WAIT's statements are tried, and what their runs are measured with."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
