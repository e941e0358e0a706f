"""Which cached tokens to keep: priced (Token-PD), or by the policies that people use."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
