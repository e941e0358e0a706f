"""Exact numbers as plain values: a number that any reader takes, and beside it the number itself.

There is one naming: `rate` is a number, `rate_exact` the text of the fraction, as in "137/474".
"""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any


def number(value: Fraction | int) -> int | float:
    """An int where it is whole, else the nearest double."""
    return value.numerator if value.denominator == 1 else float(value)


def with_exact(name: str, value: Fraction | int | None) -> dict[str, int | float | str | None]:
    """A value under its name, and its text under `<name>_exact`; None twice where there is none."""
    if value is None:
        return {name: None, f"{name}_exact": None}
    return {name: number(value), f"{name}_exact": str(value)}


def with_exact_list(name: str, values: Iterable[Fraction | int]) -> dict[str, list[Any]]:
    """As `with_exact`, of a list: numbers, and a list of texts."""
    values = list(values)
    return {name: [number(v) for v in values], f"{name}_exact": [str(v) for v in values]}


def finite(value: Any) -> Any:
    """The same plain values with None for what is not a finite number: JSON has no such numbers."""
    if isinstance(value, Mapping):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
