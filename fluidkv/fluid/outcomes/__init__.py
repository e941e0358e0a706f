"""What becomes of starts: in what they end, when, and what happens on the way. In batches."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
