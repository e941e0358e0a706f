"""Requests that are all alike: equilibria, cascades, capture; Congestion, section 3."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
