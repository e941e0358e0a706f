"""The best victims of all, on small cases: exact search, and how far from it each rule is."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
