"""The objects of `fluidkv.exact` as sympy expressions: polynomials, drift, boundary, equilibria."""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
