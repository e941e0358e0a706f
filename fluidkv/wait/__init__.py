"""WAIT and Nested WAIT: theory, runs of prompts, chains of counts."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
