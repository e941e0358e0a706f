"""Systems on which WAIT's statements are tried, and what their runs are measured with."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
