"""Which cached tokens to keep: priced (Token-PD), or by the policies that people use."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
