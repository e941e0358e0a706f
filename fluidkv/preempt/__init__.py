"""Whom to preempt, how to bring it back, how much memory to give."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
