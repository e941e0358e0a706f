"""Whom to preempt, how to bring it back, how much memory to give: CacheOPT and its rivals."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
