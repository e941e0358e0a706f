"""What trajectories settle into after evictions: pulse cycles and other periodic orbits."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
