"""From which input length on a mix of output lengths is stable, for every input length at once."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
