"""Results that travel: when two records are the same, and what one is as plain values.

A result of the package is a frozen dataclass of this kind. It pickles and copies, it equals what
comes back bit by bit, and `to_dict` gives what JSON has of it: the command line prints the same.
Balls are pickled by `fluidkv.exact.precision`, through `copyreg`; what pickles to the same numbers
is the same here. As numbers two balls are equal only where both are exact, so that a ball would not
equal itself.
"""

import copyreg
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any

from fluidkv.kinds import fields_checked
from fluidkv.plain import finite, plain_fields


class Record:
    """A result: a frozen dataclass whose values say whether it equals another."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__eq__ = Record.__eq__  # `dataclass` keeps those that are there
        cls.__hash__ = Record.__hash__
        own = cls.__dict__.get("to_dict")
        if own is not None:
            type.__setattr__(cls, "to_dict", _finite(own))
        made = cls.__dict__.get("__post_init__")
        if made is not None:
            type.__setattr__(cls, "__post_init__", fields_checked(made, cls))

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and _same_fields(self, other))

    def __hash__(self) -> int:
        """Of all values that have one: arrays and balls have none."""
        return hash((type(self).__qualname__, *map(_hash, _compared(self))))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; beside each exact number its text, under `<name>_exact`."""
        return plain_fields(self)


def _hash(value: Any) -> int:
    try:
        return 0 if value != value else hash(value)  # NaN is the same as another
    except (TypeError, ValueError):
        return 0


def _finite(to_dict: Callable[[Any], Mapping[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    """With None for what is not finite, which JSON does not have."""

    @wraps(to_dict)
    def found(record: Any) -> dict[str, Any]:
        return finite(to_dict(record))

    return found


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same: NaN as NaN, arrays by type and values, balls bit by bit."""
    if one is other:
        return True
    if type(one) is not type(other):
        return (one == other) is True  # an int and a float; no array, which says it of each value
    if isinstance(one, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    reduce = copyreg.dispatch_table.get(type(one))
    if reduce is not None:  # balls, and matrices and polynomials of numbers
        return same(reduce(one), reduce(other))
    if hasattr(one, "identical"):  # of xarray
        return one.identical(other)
    if hasattr(one, "dtype") and hasattr(one, "shape"):
        return _same_arrays(one, other)
    if is_dataclass(one) and type(one).__eq__ is object.__eq__:
        return _same_fields(one, other)
    return bool(one == other)


def _same_fields(one: object, other: object) -> bool:
    return all(map(same, _compared(one), _compared(other)))


def _compared(record: Any) -> list[Any]:
    return [getattr(record, each.name) for each in fields(record) if each.compare]


def _same_arrays(first: Any, second: Any) -> bool:
    import numpy as np  # not where nobody has arrays: workloads are of this kind, and load at once

    one, other = np.asarray(first), np.asarray(second)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype == object:
        return same(one.ravel().tolist(), other.ravel().tolist())
    return np.array_equal(one, other, equal_nan=one.dtype.kind in "fcmM")
