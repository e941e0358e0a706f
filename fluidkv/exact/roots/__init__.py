"""Roots of the characteristic polynomial: exact counts, winding numbers, ball enclosures."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
