"""The mass model under other victims than the least progressed, and with evicted progress kept."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
