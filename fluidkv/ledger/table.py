"""A table of a paper beside our own numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fluidkv.errors import InputError


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


@dataclass(frozen=True)
class Table:
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

    def __post_init__(self) -> None:
        keys = [column.key for column in self.columns]
        if len(set(keys)) < len(keys):
            raise InputError("columns", ", ".join(keys), "keys that differ")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; runs what `data` runs."""
        return {
            "table": self.name,
            "title": self.title,
            "source": self.source,
            "columns": {c.key: f"{c.group}, {c.header}" for c in self.columns},
            "rows": [
                {"label": row.label, "percent": row.percent, **row.values} for row in self.data()
            ],
            "notes": list(self.notes),
        }
