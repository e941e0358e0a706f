"""Exact numbers as plain values: a number that any reader takes, and beside it the number itself.

There is one naming: `rate` is a number, `rate_exact` the text of the fraction, as in "137/474".
"""

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from operator import attrgetter
from pathlib import PurePath
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


def csv_text(
    header: Iterable[str], rows: Iterable[Sequence[object]], *, whole: bool = False
) -> str:
    """A table as CSV, numbers with all digits; a cell is empty where there is no finite number.

    Args:
        whole: write floats that are whole numbers without a point.
    """
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n")
    write.writerow(header)
    for row in rows:
        cells = finite(row)
        if whole:
            cells = [int(c) if isinstance(c, float) and c.is_integer() else c for c in cells]
        write.writerow(cells)
    return text.getvalue()


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers, text, lists and objects; None for what is not finite.

    A fraction becomes a number; `named` keeps its text. A ball is its middle and its radius. A
    dataset is its variables and coordinates, each with its dimensions, units and values.
    """
    if value is None or type(value) in (str, bool, int):
        return value
    if isinstance(value, Enum):
        return value.value if isinstance(value.value, str) else value.name.lower()
    if isinstance(value, Fraction):
        return number(value)
    if isinstance(value, float):
        return finite(float(value))
    if isinstance(value, complex):
        return {"real": finite(value.real), "imag": finite(value.imag)}
    if isinstance(value, Mapping) and not hasattr(value, "data_vars"):
        return {_key(key): plain(each) for key, each in value.items()}
    found = _of_others(value)
    if found is not None:
        return found()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | PurePath):
        return [plain(each) for each in value]
    return str(value)


def plain_fields(record: Any) -> dict[str, Any]:
    """The fields of a dataclass by name, exact ones with their text beside them."""
    found: dict[str, Any] = {}
    for each in fields(record):
        found |= named(each.name.lstrip("_"), getattr(record, each.name))
    return found


def plain_tuple(value: Any) -> dict[str, Any]:
    """The fields of a named tuple by name, exact ones with their text beside them."""
    found: dict[str, Any] = {}
    for name in value._fields:
        found |= named(name, getattr(value, name))
    return found


def named(name: str, value: object) -> dict[str, Any]:
    """A value under its name; of an exact one, or a row of such, also the text, `<name>_exact`."""
    if isinstance(value, Fraction):
        return with_exact(name, value)
    if isinstance(value, tuple | list) and any(isinstance(each, Fraction) for each in value):
        texts = [str(each) if isinstance(each, Fraction | int) else None for each in value]
        return {name: plain(value), f"{name}_exact": texts}
    return {name: plain(value)}


def picked(value: object, *paths: str) -> dict[str, Any]:
    """Parts of a value under the last name of each path, exact ones with their text beside them.

    Args:
        paths: names of attributes, "mean" or "certificate.method".
    """
    found: dict[str, Any] = {}
    for path in paths:
        found |= named(path.rpartition(".")[2], attrgetter(path)(value))
    return found


def _of_others(value: Any) -> Callable[[], Any] | None:
    """How arrays, datasets, balls and records are read; None for what is none of them."""
    if hasattr(value, "data_vars"):
        return lambda: {str(n): _column(each) for n, each in value.variables.items()}
    if hasattr(value, "to_dict"):
        return value.to_dict
    if hasattr(value, "tolist"):
        return lambda: plain(value.tolist())
    if hasattr(value, "_fields"):
        return lambda: plain_tuple(value)
    if is_dataclass(value):
        return lambda: plain_fields(value)
    if hasattr(value, "rad"):  # a ball: of flint, which this does not know
        parts = ("real", "imag") if type(value).__name__ == "acb" else ("mid", "rad")
        return lambda: {name: _part(value, name) for name in parts}
    if hasattr(value, "coeffs"):
        return lambda: plain(value.coeffs())
    if hasattr(value, "__index__"):
        return lambda: int(value)
    if type(value).__name__ == "fmpq":
        return lambda: number(Fraction(int(value.p), int(value.q)))
    return None


def _part(ball: Any, name: str) -> Any:
    part = getattr(ball, name)
    return plain(part) if name in ("real", "imag") else finite(float(part()))


def _column(column: Any) -> dict[str, Any]:
    units = column.attrs.get("units", "1")
    return {"dims": list(column.dims), "units": units, "values": plain(column.values)}


def _key(key: object) -> str:
    """Of an object in JSON."""
    return str(plain(key)) if isinstance(key, Enum | Fraction) else str(key)
