"""The mass model in JAX, batched: starts, trajectories, what becomes of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
