"""What a request holds, iteration by iteration: stability and noise of every server."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
