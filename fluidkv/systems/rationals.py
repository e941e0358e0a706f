"""Exact numbers in arrays: a rational is two 64-bit integers, and a binary float is refused."""

from collections.abc import Callable, Sequence
from numbers import Rational
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from fluidkv.errors import InputError

INTEGER = "an integer of at least 1"
RATIONAL = "an integer or a Fraction"

_EXACT = 2**53  # integers up to here are doubles


class Rationals(NamedTuple):
    """int64 arrays of one shape; in lowest terms, denominators positive.

    Examples:
        >>> from fluidkv.systems.rationals import Rationals
        >>> shares = Rationals(np.array([[2, 6]]), np.array([[8, 8]]))
        >>> systems = fk.Systems([[500, 2000]], [[200, 100]], shares, [70_000])
        >>> systems.share.denominator, systems.share.floats
        (array([[4, 4]]), array([[0.25, 0.75]]))
    """

    numerator: np.ndarray
    denominator: np.ndarray

    @property
    def floats(self) -> np.ndarray:
        """The nearest doubles."""
        found = np.asarray(self.numerator / self.denominator)
        wide = (np.abs(self.numerator) > _EXACT) | (self.denominator > _EXACT)
        for at in zip(*np.nonzero(wide), strict=True):  # whose parts would be rounded too
            found[at] = int(self.numerator[at]) / int(self.denominator[at])
        return found

    def at(self, chosen: Any) -> "Rationals":
        """Of the systems that are meant."""
        return Rationals(self.numerator[chosen], self.denominator[chosen])


def integers(argument: str, values: Any, *, row: str = "system") -> np.ndarray:
    """An int64 array of whole numbers; rows are systems, or what `row` says.

    Raises:
        InputError: of the first that is none, with its row, or of one beyond 64 bits.
    """
    given = np.asarray(values)
    if given.dtype.kind in "iu" and given.dtype != np.uint64:
        return np.array(given, np.int64)
    return _converted(argument, given, row, _whole)


def rationals(argument: str, values: Any, *, row: str = "system") -> Rationals:
    """Of integers and `Fraction`s, or of `Rationals`, in lowest terms; rows as of `integers`.

    Raises:
        InputError: of the first that is none, with its row, or of one beyond 64 bits.
    """
    if isinstance(values, Rationals):
        top, bottom = (integers(argument, part) for part in values)
        if top.shape != bottom.shape:
            raise InputError(argument, f"shapes {top.shape}, {bottom.shape}", "one shape")
        bad = first(bottom < 1)
        if bad is not None:
            raise InputError(argument, f"a denominator below 1 (system {bad})", RATIONAL)
        common = np.gcd(top, bottom)
        return Rationals(top // common, bottom // common)
    given = np.asarray(values)
    if given.dtype.kind in "iu":
        top = integers(argument, given)
        return Rationals(top, np.ones_like(top))
    given = given if given.dtype == object else np.asarray(values, object)
    top = _converted(argument, given, row, _rational, lambda value: value.numerator)
    bottom = _converted(argument, given, row, _rational, lambda value: value.denominator)
    return Rationals(top, bottom)


def first(bad: np.ndarray) -> int | None:
    """The first system (row) in which something is bad; None where nothing is."""
    rows = bad.reshape(len(bad), -1).any(axis=1)
    return int(rows.argmax()) if rows.any() else None


def _whole(value: object) -> bool:
    return isinstance(value, SupportsIndex) and not isinstance(value, bool)


def _rational(value: object) -> bool:
    return isinstance(value, Rational) and not isinstance(value, bool)


def _converted(
    argument: str,
    given: np.ndarray,
    row: str,
    good: Callable[[Any], bool],
    part: Callable[[Any], Any] = int,
) -> np.ndarray:
    numbers: Sequence[Any] = given.ravel().tolist()
    allowed = INTEGER if part is int else RATIONAL
    hint = " (share_from_float converts)" if argument == "share" else ""
    for place, value in enumerate(numbers):
        if not good(value):
            at = place * len(given) // given.size if given.ndim else 0
            raise InputError(argument, f"{value!r} ({row} {at})", allowed + hint)
    try:
        return np.array([part(v) for v in numbers], np.int64).reshape(given.shape)
    except OverflowError:
        raise InputError(argument, "a number beyond 64 bits", f"{allowed} below 2^63") from None
