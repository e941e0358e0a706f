"""The online knapsack of sections 3 to 5 and Appendix A: rounds, tokens, a price."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
