"""Checks of single numbers that runs are given."""

import math
from numbers import Real
from typing import Any, SupportsIndex, TypeVar

import numpy as np
from jaxtyping import Float

from fluidkv.errors import InputError

Kind = TypeVar("Kind")

MOST_TOKENS = 10**8
"""No context is longer; times another such number it still fits into 64 bits."""


def count(argument: str, value: object, *, least: int = 1, most: int | None = None) -> int:
    """The value as an int.

    Raises:
        InputError: not a whole number, below `least` or above `most`.

    Examples:
        >>> from fluidkv.runs.checks import count
        >>> count("requests", 3)
        3
        >>> count("requests", 0)
        Traceback (most recent call last):
            ...
        fluidkv.errors.InputError: requests: got 0; allowed: an integer of at least 1
    """
    # Nearly all are ints, which a test against a protocol takes microseconds to find out.
    plain = type(value) is int
    if plain or (isinstance(value, SupportsIndex) and not isinstance(value, bool)):
        number = value if plain else value.__index__()
        if number >= least and (most is None or number <= most):
            return number
    allowed = f"of at least {least}" if most is None else f"from {least} to {most:,}"
    raise InputError(argument, value, f"an integer {allowed}")


def instance(argument: str, value: object, kind: type[Kind], allowed: str) -> Kind:
    """The value, which is of this kind.

    Raises:
        InputError: it is of another one.
    """
    if not isinstance(value, kind):
        raise InputError(argument, value, allowed)
    return value


def above_0(
    argument: str, value: object, *, infinite: bool = False, most: float = math.inf
) -> float:
    """The value as a float.

    Raises:
        InputError: no real number, not above 0, above `most`, or infinite where that is not
            allowed.
    """
    number = real(value)
    if 0 < number <= most and (infinite or number < math.inf):
        return number
    allowed = f"a {'' if infinite or most < math.inf else 'finite '}number above 0"
    raise InputError(argument, value, allowed + _up_to(most))


def not_negative(argument: str, value: object, *, most: float = math.inf) -> float:
    """The value as a float.

    Raises:
        InputError: no real number, below 0, above `most`, or infinite.
    """
    if 0 <= (number := real(value)) <= most and number < math.inf:
        return number
    raise InputError(argument, value, f"a finite number of at least 0{_up_to(most)}")


def _up_to(most: float) -> str:
    return "" if most == math.inf else f", up to {most:,}"


def real(value: object) -> float:
    """The value as a float; NaN where it is no real number, or one beyond floats."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer or a Fraction
        return math.nan


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
