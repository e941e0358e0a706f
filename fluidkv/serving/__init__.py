"""Whole requests under an engine's rules, with a clock: literal and compiled."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
