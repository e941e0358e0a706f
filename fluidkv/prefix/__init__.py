"""Prefix caches: what is kept of earlier prompts, what goes, and what the best could have kept."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
