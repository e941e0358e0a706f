"""Prefix caches: what is kept of earlier prompts, what goes, and what the best could have kept."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
