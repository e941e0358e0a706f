"""Libraries that checks compute with, loaded by the first check that does.

A module of claims is imported to list what it states; that takes none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import flint as flint
    import numpy as np
    import sympy as sympy
    import xarray as xr
else:

    class _Lazy:
        """A module that is imported when something of it is asked for."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            if attribute.startswith("__"):  # asked of every value, as by `hasattr`
                raise AttributeError(attribute)
            return getattr(import_module(self._name), attribute)

    flint, np, sympy, xr = map(_Lazy, ("flint", "numpy", "sympy", "xarray"))
