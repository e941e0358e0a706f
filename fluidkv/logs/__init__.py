"""A measured run as people have it: requests, ticks and settings, from whatever files there are."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
