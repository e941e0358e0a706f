"""What can be said without a run: balance, thresholds, bounds, designs."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
