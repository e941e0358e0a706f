"""A table of a paper beside our own numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fluidkv.errors import InputError
from fluidkv.keys import Key, Keyed


@dataclass(frozen=True)
class Column:
    """One column.

    Args:
        key: name of its values.
        group: what stands over it and its neighbours: quantity and unit.
        header: whose numbers they are, "paper" or an engine; or which of several, "P95".
        digits: after the point.
    """

    key: str
    group: str
    header: str
    digits: int = 0


@dataclass(frozen=True)
class Row:
    """One row: values by column key; None where there is none.

    Args:
        label: what the row is.
        values: numbers.
        percent: the row is a change in per cent: shown with sign and one digit.
    """

    label: str
    values: Mapping[str, float | int | None]
    percent: bool = False


_ROW = (
    ("label", "text", "if N is given: of the row"),
    ("percent", "yes/no", "if N is given: whether it is in percent"),
    ("*", "number or text", "if N is given: as the headings say"),
)


@dataclass(frozen=True)
class Table(Keyed):
    """One table.

    Args:
        name: what it is asked for by: its number, with its paper before it, "routing.2", unless
            that is Congestion.
        title: one line.
        source: paper and place.
        columns: in the order of their groups.
        notes: what a reader must know before comparing.
        data: computes the rows.

    Raises:
        InputError: two columns of one key.
    """

    name: str
    title: str
    source: str
    columns: Sequence[Column]
    notes: Sequence[str]
    data: Callable[[], Sequence[Row]]

    KEYS = (
        Key("table", "text", "if N is given: its name", "name"),
        Key("title", "text", "if N is given: of the table"),
        Key("source", "text", "if N is given: paper and place"),
        Key(
            "columns.*",
            "text",
            what="if N is given: heading of a key of the rows, with unit",
            of=lambda table: {each.key: f"{each.group}, {each.header}" for each in table.columns},
        ),
        Key("rows[]", of=lambda table: table.rows(), below=_ROW),
        Key("notes[]", "text", "if N is given: what to know before comparing"),
    )

    def __post_init__(self) -> None:
        keys = [column.key for column in self.columns]
        if len(set(keys)) < len(keys):
            raise InputError("columns", ", ".join(keys), "keys that differ")

    def rows(self) -> list[dict[str, Any]]:
        """Plain values of each row; runs what `data` runs."""
        return [{"label": row.label, "percent": row.percent, **row.values} for row in self.data()]
