"""Axes of a sweep: what varies along each dimension, and every value along it.

An axis of a grid is a dimension by itself. The columns of a list are one dimension, `row`, and
those of a Sobol sample one, `sample`. A dataset has the product of all.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fluidkv.errors import InputError
from fluidkv.questions.kinds import Exact, Scale, Value, Whole, Word, evenly, plain, shown, spread
from fluidkv.sweeps.analysis import Setting
from fluidkv.text import nearest

ROW, SAMPLE = "row", "sample"
MOST_POINTS = 2**40
_MOST_VALUES = 10**7
_RANGE = ("from", "to", "count", "step", "scale")
_SAMPLED = ("from", "to", "scale", "denominator")


@dataclass(frozen=True)
class Axis:
    """One dimension of the points.

    Fields:
        dim: its name.
        columns: setting -> its values along it, all of one length.
        said: the same as JSON has it.
    """

    dim: str
    columns: Mapping[str, Sequence[Any]]
    said: Mapping[str, Any]

    @property
    def size(self) -> int:
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True)
class Column:
    """One setting that varies: a list of values, or a range.

    Fields:
        name: key in the spec.
        where: its full name in errors, as in "grid.share".
        setting: which setting it is.
        said: what the spec says.
    """

    name: str
    where: str
    setting: Setting
    said: Any


def grid_axis(column: Column) -> Axis:
    """A dimension of its own, from a list of values that all differ or from a range."""
    values = _listed(column) if isinstance(column.said, list | tuple) else _ranged(column)
    if len(set(values)) < len(values):
        if isinstance(column.said, list | tuple):
            (twice, _), *_ = Counter(values).most_common(1)
            raise InputError(column.where, f"{shown(twice)} twice", "values that all differ")
        raise InputError(column.where, dict(column.said), "values that all differ after rounding")
    said = plain(values) if isinstance(column.said, list | tuple) else _range_said(column)
    return Axis(column.name, {column.name: values}, {column.name: said})


def list_axis(columns: Sequence[Column]) -> Axis:
    """One dimension of rows: the first values of all columns, the second ones, and so on."""
    values: dict[str, Sequence[Any]] = {}
    for column in columns:
        if not isinstance(column.said, list | tuple):
            raise InputError(column.where, column.said, "a list of values, one for each row")
        values[column.name] = _listed(column)
    first = len(values[columns[0].name])
    for column in columns:
        if len(values[column.name]) != first:
            allowed = f"{first}, as {columns[0].where} has"
            raise InputError(column.where, f"{len(values[column.name])} values", allowed)
    return Axis(ROW, values, {name: plain(each) for name, each in values.items()})


def sobol_axis(points: int, columns: Sequence[Column], seed: int) -> Axis:
    """One dimension of a scrambled Sobol sample over ranges and lists, the same for one seed."""
    parts = _sobol(points, len(columns), seed)
    values: dict[str, Sequence[Any]] = {}
    said: dict[str, Any] = {"points": points}
    for column, of_it in zip(columns, parts, strict=True):
        if isinstance(column.said, list | tuple):
            listed = _listed(column)
            values[column.name] = [listed[int(Fraction(u) * len(listed))] for u in of_it]
            said[column.name] = plain(listed)
            continue
        table = _table(column, _SAMPLED)
        low, high, scale = _ends(column, table)
        denominator = Whole(1, 10**9).read(
            f"{column.where}.denominator", table.get("denominator", 1000)
        )
        kind = column.setting.kind
        if "denominator" in table and not isinstance(kind, Exact):
            raise InputError(
                f"{column.where}.denominator", table["denominator"], "none: only shares are exact"
            )
        if isinstance(kind, Exact) and int(high * denominator) < low * denominator:
            allowed = f"ends with a multiple of 1/{denominator} between them"
            raise InputError(column.where, f"{low} to {high}", allowed)
        values[column.name] = spread(kind, low, high, of_it, scale, denominator)
        said[column.name] = {
            "from": plain(low),
            "to": plain(high),
            "scale": scale,
            **({"denominator": denominator} if isinstance(kind, Exact) else {}),
        }
    return Axis(SAMPLE, values, said)


def read_value(where: str, setting: Setting, said: Any, *, single: bool) -> Any:
    """One value of a setting.

    Args:
        single: the key names one class, so that no list of values is allowed.
    """
    if setting.optional and said == "none":
        return None
    if isinstance(said, list | tuple):
        if single or not setting.each_class:
            raise InputError(where, said, setting.kind.words)
        if not said:
            raise InputError(where, said, "a value for each class")
        return tuple(setting.kind.read(where, each) for each in said)
    if isinstance(said, Mapping):
        raise InputError(where, dict(said), setting.kind.words)
    return setting.kind.read(where, said)


def _listed(column: Column) -> list[Any]:
    if not len(column.said):
        raise InputError(column.where, "no values", "at least one")
    single = column.name != column.setting.name
    return [read_value(column.where, column.setting, each, single=single) for each in column.said]


def _ranged(column: Column) -> list[Value]:
    table = _table(column, _RANGE)
    low, high, scale = _ends(column, table)
    count, step = table.get("count"), table.get("step")
    if count is not None and step is not None:
        raise InputError(column.where, "count and step", "one of them")
    if count is not None:
        number = _count(column, count)
        if number == 1 and low != high:
            raise InputError(f"{column.where}.count", 1, "at least 2, to reach both ends")
        return evenly(column.setting.kind, low, high, number, scale)
    if step is None and not isinstance(column.setting.kind, Whole):
        raise InputError(column.where, dict(table), "a count, such as count = 11, or a step")
    return _stepped(column, low, high, 1 if step is None else step, scale)


def _stepped(column: Column, low: Any, high: Any, said: Any, scale: Scale) -> list[Value]:
    where = f"{column.where}.step"
    if scale == "log":
        raise InputError(where, said, "none on a log scale; give a count")
    by = _step(column, said)
    number = (Fraction(high) - Fraction(low)) // by + 1
    if number > _MOST_VALUES:
        raise InputError(where, said, "a step that leads to at most 10^7 values")
    if isinstance(column.setting.kind, Whole) and by.denominator == 1:
        return list(range(low, high + 1, int(by)))  # the same, at once
    values = (Fraction(low) + i * by for i in range(number))
    return [column.setting.kind.read(column.where, each) for each in values]


def _count(column: Column, said: Any) -> int:
    return Whole(1, _MOST_VALUES).read(f"{column.where}.count", said)


def _step(column: Column, said: Any) -> Fraction:
    return Exact(0, 10**18).read(f"{column.where}.step", said)


def _ends(column: Column, table: Mapping[str, Any]) -> tuple[Any, Any, Scale]:
    kind = column.setting.kind
    for end in ("from", "to"):
        if end not in table:
            raise InputError(column.where, dict(table), "a range with from and to")
    low, high = (kind.read(f"{column.where}.{end}", table[end]) for end in ("from", "to"))
    scale = table.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise InputError(f"{column.where}.scale", scale, "linear or log")
    if not low <= high:  # words have no ranges
        raise InputError(column.where, f"{low} to {high}", "a range that does not fall")
    if scale == "log" and not low > 0:
        raise InputError(f"{column.where}.from", low, "a number above 0 on a log scale")
    return low, high, scale


def _table(column: Column, known: Sequence[str]) -> Mapping[str, Any]:
    """What a range says; refused are unknown keys, and ranges of words."""
    said = column.said
    if not isinstance(said, Mapping) or isinstance(column.setting.kind, Word):
        ranges = "" if isinstance(column.setting.kind, Word) else ", or { from = ..., to = ... }"
        raise InputError(column.where, said, f"a list of values{ranges}")
    for key in said:
        if key not in known:
            raise InputError(column.where, key, nearest(key, known))
    return said


def _range_said(column: Column) -> dict[str, Any]:
    """A range as JSON has it: ends as they were read, the rest as it was said."""
    low, high, scale = _ends(column, column.said)
    said: dict[str, Any] = {"from": plain(low), "to": plain(high)}
    if "count" in column.said:
        said["count"] = _count(column, column.said["count"])
    if "step" in column.said:
        said["step"] = str(_step(column, column.said["step"]))
    return said | {"scale": scale}


def _sobol(points: int, columns: int, seed: int) -> list[list[float]]:
    """Parts in [0, 1), one list a column: the first points of the next power of two."""
    from scipy.stats import qmc

    sampler = qmc.Sobol(columns, scramble=True, rng=seed)
    exponent = max(0, points - 1).bit_length()
    return sampler.random_base2(exponent)[:points].T.tolist()
