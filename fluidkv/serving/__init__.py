"""Whole requests under an engine's rules, with a clock: literal and compiled."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
