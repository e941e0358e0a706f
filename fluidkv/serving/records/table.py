"""A table of a record file: named columns, and rows whose cells are of the kind of their column."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from fluidkv.serving.records.fields import Fields

STEP = "step"


@dataclass(frozen=True)
class Cell:
    """What a cell may hold: in words, and as a test."""

    text: str
    fits: Callable[[object], bool]


def _whole(value: object) -> bool:
    return type(value) is int and abs(value) < 2**63


def _number(value: object) -> bool:
    return _whole(value) or (isinstance(value, float) and isfinite(value))


def _counts(value: object) -> bool:
    return isinstance(value, list) and all(_whole(each) for each in value)


COUNT = Cell("a whole number", _whole)
NUMBER = Cell("a number", _number)
WORD = Cell("text", lambda value: isinstance(value, str))
COUNTS = Cell("a list of whole numbers", _counts)


def lists_of(size: int) -> Cell:
    """A list of rows of so many whole numbers."""

    def fits(value: object) -> bool:
        return isinstance(value, list) and all(_counts(row) and len(row) == size for row in value)

    return Cell(f"a list of rows of {size} whole numbers", fits)


def read_columns(fields: Fields, known: Mapping[str, Cell]) -> tuple[str, ...]:
    """The names in field `columns`: any of those known, each once, in any order.

    Raises:
        InputError: another name, a name twice.
    """
    names = fields.items("columns")
    for place, name in enumerate(names):
        if not isinstance(name, str) or name not in known:
            raise fields.wrong(f"columns[{place}]", name, f"one of {', '.join(known)}")
        if name in names[:place]:
            raise fields.wrong(f"columns[{place}]", f"{name} twice", "each column once")
    return tuple(names)


def checked_row(
    fields: Fields, name: str, row: object, columns: tuple[str, ...], known: Mapping[str, Cell]
) -> list[Any]:
    """A row, each of its cells looked at.

    Args:
        name: of the row, as errors name it: "records[3]".
    """
    if not isinstance(row, list) or len(row) != len(columns):
        raise fields.wrong(name, row, f"a row of {len(columns)} cells")
    for column, value in zip(columns, row, strict=True):
        if not known[column].fits(value):
            raise fields.wrong(f"{name}, {column}", value, known[column].text)
    return row


def read_steps(
    fields: Fields, known: Mapping[str, Cell]
) -> tuple[tuple[str, ...], list[list[Any]]]:
    """Fields `columns` and `records`: a row a step of a scheduler, from step 0 on.

    Args:
        known: columns to compare, and what their cells hold. A column `step` may stand beside
            them; it must count, and is not returned.

    Returns: the columns to compare in the file's order, and their rows.

    Raises:
        InputError: naming the column, row or cell that does not fit.
    """
    known = {STEP: COUNT, **known}
    columns = read_columns(fields, known)
    counted = [place for place, name in enumerate(columns) if name != STEP]
    if not counted:
        raise fields.wrong("columns", list(columns), "at least one column that is counted")
    rows = []
    for step, cells in enumerate(fields.items("records")):
        row = checked_row(fields, f"records[{step}]", cells, columns, known)
        if STEP in columns and row[columns.index(STEP)] != step:
            allowed = f"{step}: steps count from 0, one a row"
            raise fields.wrong(f"records[{step}], {STEP}", row[columns.index(STEP)], allowed)
        rows.append([row[place] for place in counted])
    return tuple(columns[place] for place in counted), rows
