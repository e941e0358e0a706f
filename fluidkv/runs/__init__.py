"""What runs have in common, whatever runs: batches, requests, arrivals, records, measuring."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
