"""The benchmarks that ship: what `fluidkv bench` runs, each against what the machine can do."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
