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
    listed = isinstance(column.said, list | tuple)
    values, record = _listed(column) if listed else _ranged(column)
    if len(set(values)) < len(values):
        if listed:
            (twice, _), *_ = Counter(values).most_common(1)
            raise InputError(column.where, f"{shown(twice)} twice", "values that all differ")
        raise InputError(column.where, dict(column.said), "values that all differ after rounding")
    return Axis(column.name, {column.name: values}, {column.name: record})


def list_axis(columns: Sequence[Column]) -> Axis:
    """One dimension of rows: the first values of all columns, the second ones, and so on."""
    values: dict[str, Sequence[Any]] = {}
    records: dict[str, Any] = {}
    for column in columns:
        if not isinstance(column.said, list | tuple):
            raise InputError(column.where, column.said, "a list of values, one for each row")
        values[column.name], records[column.name] = _listed(column)
    first = len(values[columns[0].name])
    for column in columns:
        if len(values[column.name]) != first:
            allowed = f"{first}, as {columns[0].where} has"
            raise InputError(column.where, f"{len(values[column.name])} values", allowed)
    return Axis(ROW, values, records)


def sobol_axis(points: int, columns: Sequence[Column], seed: int) -> Axis:
    """One dimension of a scrambled Sobol sample over ranges and lists, the same for one seed."""
    parts = _sobol(points, len(columns), seed)
    values: dict[str, Sequence[Any]] = {}
    records: dict[str, Any] = {"points": points}
    for column, of_it in zip(columns, parts, strict=True):
        values[column.name], records[column.name] = _sampled(column, of_it)
    return Axis(SAMPLE, values, records)


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


def _listed(column: Column) -> tuple[list[Any], Any]:
    """The values of a list, and the list as JSON has it."""
    if not len(column.said):
        raise InputError(column.where, "no values", "at least one")
    single = column.name != column.setting.name
    values = [read_value(column.where, column.setting, each, single=single) for each in column.said]
    return values, plain(values)


def _ranged(column: Column) -> tuple[list[Value], Any]:
    """The values of a range, and the range as JSON has it, with its ends as they were read."""
    table = {key: each for key, each in _table(column, _RANGE).items() if each is not None}
    low, high, scale = _ends(column, table)
    record: dict[str, Any] = {"from": plain(low), "to": plain(high)}
    kind = column.setting.kind
    if "count" in table and "step" in table:
        raise InputError(column.where, "count and step", "one of them")
    if "count" in table:
        number = Whole(1, _MOST_VALUES).read(f"{column.where}.count", table["count"])
        if number == 1 and low != high:
            raise InputError(f"{column.where}.count", 1, "at least 2, to reach both ends")
        record |= {"count": number, "scale": scale}
        return evenly(kind, low, high, number, scale), record
    if "step" not in table and not isinstance(kind, Whole):
        raise InputError(column.where, dict(table), "a count, such as count = 11, or a step")
    step = _step(column, table.get("step", 1), scale)
    record |= {"step": str(step), "scale": scale} if "step" in table else {"scale": scale}
    return _stepped(column, low, high, step), record


def _sampled(column: Column, parts: Sequence[float]) -> tuple[list[Any], Any]:
    """The values of a list or a range at parts in [0, 1), and the list or range for JSON."""
    if isinstance(column.said, list | tuple):
        listed, record = _listed(column)
        return [listed[int(Fraction(part) * len(listed))] for part in parts], record
    table, kind = _table(column, _SAMPLED), column.setting.kind
    low, high, scale = _ends(column, table)
    where = f"{column.where}.denominator"
    denominator = Whole(1, 10**9).read(where, table.get("denominator", 1000))
    record = {"from": plain(low), "to": plain(high), "scale": scale}
    if isinstance(kind, Exact):
        record["denominator"] = denominator
        if int(high * denominator) < low * denominator:
            allowed = f"ends with a multiple of 1/{denominator} between them"
            raise InputError(column.where, f"{low} to {high}", allowed)
    elif "denominator" in table:
        raise InputError(where, table["denominator"], "none: only shares are exact")
    return spread(kind, low, high, parts, scale, denominator), record


def _step(column: Column, said: Any, scale: Scale) -> Fraction:
    if scale == "log":
        raise InputError(f"{column.where}.step", said, "none on a log scale; give a count")
    return Exact(0, 10**18).read(f"{column.where}.step", said)


def _stepped(column: Column, low: Any, high: Any, step: Fraction) -> list[Value]:
    number = (Fraction(high) - Fraction(low)) // step + 1
    if number > _MOST_VALUES:
        step = column.said.get("step", 1)
        raise InputError(f"{column.where}.step", step, "a step that leads to at most 10^7 values")
    if isinstance(column.setting.kind, Whole) and step.denominator == 1:
        return list(range(low, high + 1, int(step)))  # the same, at once
    values = (Fraction(low) + i * step for i in range(number))
    return [column.setting.kind.read(column.where, each) for each in values]


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


def _sobol(points: int, columns: int, seed: int) -> list[list[float]]:
    """Parts in [0, 1), one list a column: the first points of the next power of two."""
    from scipy.stats import qmc

    sampler = qmc.Sobol(columns, scramble=True, rng=seed)
    exponent = max(0, points - 1).bit_length()
    return sampler.random_base2(exponent)[:points].T.tolist()
