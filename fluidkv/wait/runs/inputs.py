"""Checks of what a run is given, beside those of `fluidkv.wait.model`."""

import math
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float

from fluidkv.errors import InputError
from fluidkv.wait.model import shown


def time_above_0(argument: str, value: object, *, infinite: bool = False) -> float:
    """The time as a float.

    Raises:
        InputError: no real number, not above 0, or infinite where that is not allowed.
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.nan
        if 0 < number < math.inf or (infinite and number == math.inf):
            return number
    named = shown(value) if isinstance(value, Fraction | int) else value
    raise InputError(argument, named, "a time above 0" if infinite else "a finite time above 0")


def floats(argument: str, values: Any, allowed: str) -> Float[np.ndarray, "..."]:
    """A new array of the numbers.

    Raises:
        InputError: something that is no number, rows of different lengths, or what no float holds.
    """
    try:
        if np.asarray(values).dtype.kind in "iufO":  # O: Fractions, or ints beyond 64 bits
            return np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(argument, values, allowed)
