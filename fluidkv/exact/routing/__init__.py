"""Which request classes to mix and which to keep apart, by certificates."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
