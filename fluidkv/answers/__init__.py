"""What a user asks, joined from the rooms below: study, recommend, replay, wait."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
