"""The mass model under other victims than the least progressed, and with evicted progress kept."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
