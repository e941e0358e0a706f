"""What runs have in common, whatever runs: batches, requests, arrivals, records, measuring."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
