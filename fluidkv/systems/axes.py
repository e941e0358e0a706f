"""Values of four arguments, combined into systems: every combination, or one after the other.

A number is one value. A tuple is one value too, with a part for each class. Whatever else has a
length, such as a list, a range or an array, is an axis of values.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fluidkv.errors import InputError
from fluidkv.systems.rationals import Rationals, integers, rationals

NAMES = ("input_length", "decode_length", "share", "capacity")


class Column(NamedTuple):
    """An argument: its values (value, part), whether they are an axis, and parts given."""

    values: Rationals
    axis: bool
    given: int

    @property
    def rows(self) -> int:
        return len(self.values.numerator)

    @property
    def parts(self) -> int:
        return self.values.numerator.shape[1]


def columns(given: dict[str, Any]) -> dict[str, Column]:
    """Each argument read, the shares of one class and of a last class filled in.

    Raises:
        InputError: no value, values of another kind, numbers of classes that differ.
    """
    lengths = ("input_length", "decode_length")
    for name in (*lengths, "capacity"):
        if given[name] is None:
            raise InputError(name, None, "a number, a tuple or a list of values")
    read = {name: _column(name, given[name]) for name in NAMES if given[name] is not None}
    classes = max(read[name].parts for name in lengths)
    if "share" in read:
        classes = max(classes, read["share"].parts)
    elif classes == 1:
        read["share"] = _column("share", 1)
    else:
        allowed = f"the shares of {classes} classes, or of all but the last one"
        raise InputError("share", None, allowed)
    for name in lengths:
        if read[name].parts not in (1, classes):
            allowed = f"one number, or a tuple of {classes}"
            raise InputError(name, f"{read[name].parts} classes", allowed)
    if read["capacity"].parts != 1:
        raise InputError("capacity", given["capacity"], "one number for a system")
    if read["share"].parts == classes - 1:
        read["share"] = read["share"]._replace(values=_with_rest(read["share"].values))
    elif read["share"].parts != classes:
        allowed = f"of {classes} classes, or of {classes - 1}, where the last one gets the rest"
        raise InputError("share", f"shares of {read['share'].parts} classes", allowed)
    return read


def places(read: dict[str, Column], *, product: bool) -> dict[str, np.ndarray]:
    """Of each argument, which of its values each system has.

    Raises:
        InputError: axes of different lengths, where they are to go together.
    """
    sizes = [read[name].rows for name in NAMES]
    if product:
        chosen = np.indices(sizes).reshape(len(NAMES), -1)
        return dict(zip(NAMES, chosen, strict=True))
    count = max(sizes)
    for name, size in zip(NAMES, sizes, strict=True):
        if size not in (1, count):
            raise InputError(name, f"{size} values", f"1, or {count} as the other arguments")
    every = np.arange(count)
    return {n: every if s == count else every * 0 for n, s in zip(NAMES, sizes, strict=True)}


def _column(name: str, given: Any) -> Column:
    axis = isinstance(given, Iterable) and not isinstance(given, tuple | str | bytes)
    if isinstance(given, np.ndarray) and given.ndim == 0:
        axis, given = False, given[()]
    rows = given if isinstance(given, np.ndarray | range) else list(given) if axis else [given]
    if len(rows) == 0:
        raise InputError(name, given, "at least one value")
    if not isinstance(rows, np.ndarray | range):
        tuples = [row if isinstance(row, tuple) else (row,) for row in rows]
        parts = len(tuples[0])
        for place, row in enumerate(tuples):
            if len(row) != parts or not parts:
                shown = f"{rows[place]!r} (value {place})"
                raise InputError(name, shown, "values with as many classes as the first one")
        rows = np.empty((len(tuples), parts), object)
        rows[:] = tuples
    table = np.asarray(rows)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or 0 in table.shape:
        raise InputError(name, f"shape {table.shape}", "one axis of values, or (value, class)")
    if name in ("share", "capacity"):
        return Column(rationals(name, table, row="value"), axis, table.shape[1])
    whole = integers(name, table, row="value")
    return Column(Rationals(whole, np.ones_like(whole)), axis, table.shape[1])


def _with_rest(shares: Rationals) -> Rationals:
    """A last class that gets what the others leave; where that is nothing, no share is right."""
    top, bottom = shares
    if (bottom.astype(np.float64).prod(axis=1) * top.shape[1] >= 2.0**62).any():
        rows = zip(top.tolist(), bottom.tolist(), strict=True)  # a common one may have more bits
        rest = [1 - sum(map(Fraction, *row), Fraction(0)) for row in rows]
    else:
        common = np.lcm.reduce(bottom, axis=1)
        rest = Rationals(common - (top * (common[:, None] // bottom)).sum(axis=1), common)
    last = rationals("share", rest, row="value")
    both = zip(shares, last, strict=True)
    return Rationals(*(np.concatenate([given, more[:, None]], axis=1) for given, more in both))
