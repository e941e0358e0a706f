"""`fluidkv table`: a table of the paper beside our own numbers."""

import json
from collections.abc import Sequence
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

import typer

from fluidkv.errors import InputError

if TYPE_CHECKING:
    from fluidkv.ledger.table import Column, Row, Table

_WIDTH = 80
_ELSEWHERE = "; 4, 5 and 8 are claims: fluidkv verify congestion.table-4, and so on"


def table(
    number: Annotated[
        str | None, typer.Argument(metavar="[N]", help="Number of the table in Congestion.")
    ] = None,
    json_: Annotated[
        bool, typer.Option("--json", help="Print only JSON on standard output.")
    ] = False,
) -> None:
    """A table of the paper beside our own numbers. Without N, list them.

    Runs the same workloads in our engines and sets the columns side by side.

    [bold]fluidkv table 7[/bold]
    """
    from fluidkv.papers.tables import table as find
    from fluidkv.papers.tables import tables

    if number is None:
        known = tables()
        if json_:
            print(json.dumps({n: each.title for n, each in known.items()}, indent=2))
        else:
            for n, each in known.items():
                print(f"{n:>2}  {each.title}")
        return
    chosen = find(_number(number))
    if json_:
        print(json.dumps(chosen.as_dict(), indent=2, allow_nan=False))
    else:
        print(as_text(chosen))


def _number(text: str) -> int:
    from fluidkv.papers.tables import tables

    known = [str(n) for n in tables()]
    if text.strip() not in known:
        raise InputError("N", text, f"{', '.join(known)}{_ELSEWHERE}")
    return int(text)


def as_text(table: "Table") -> str:
    """The table in 80 columns, with its notes."""
    rows = table.data()
    cells = [[_cell(row, column) for column in table.columns] for row in rows]
    label = max(len(row.label) for row in rows) + 1
    widths = _widths(table.columns, cells, _WIDTH - label)
    lines = [*wrap(f"Table {table.number}. {table.title}", _WIDTH), ""]
    lines.append(" " * label + _groups(table.columns, widths))
    lines.append(" " * label + _line([column.header for column in table.columns], widths))
    for row, texts in zip(rows, cells, strict=True):
        lines.append(f"{row.label:<{label}}" + _line(texts, widths))
        if row.percent:
            lines.append("")
    for note in table.notes:
        lines += wrap(note, _WIDTH, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(lines)


def _cell(row: "Row", column: "Column") -> str:
    value = row.values.get(column.key)
    if value is None:
        return "-"
    if row.percent:
        return f"{value:+.1f}" if abs(value) < 99.95 else f"{value:+.0f}"
    return f"{value:,.{column.digits}f}"


def _widths(columns: Sequence["Column"], cells: list[list[str]], room: int) -> list[int]:
    """As wide as the widest entry and a space; a group at least as wide as its name.

    Where there is room, groups stand apart by one more space.
    """
    widths = [
        1 + max(len(column.header), *(len(row[i]) for row in cells))
        for i, column in enumerate(columns)
    ]
    firsts = [i for i, c in enumerate(columns) if i == 0 or columns[i - 1].group != c.group]
    for first, end in zip(firsts, [*firsts[1:], len(columns)], strict=True):
        widths[first] += max(0, len(columns[first].group) + 1 - sum(widths[first:end]))
    if sum(widths) + len(firsts) <= room:
        for first in firsts:
            widths[first] += 1
    return widths


def _groups(columns: Sequence["Column"], widths: list[int]) -> str:
    """The names of the groups, each over the right end of its columns."""
    text = ""
    for name, members in groupby(zip(columns, widths, strict=True), key=lambda pair: pair[0].group):
        text += f"{name:>{sum(width for _, width in members)}}"
    return text


def _line(texts: Sequence[str], widths: list[int]) -> str:
    return "".join(f"{text:>{width}}" for text, width in zip(texts, widths, strict=True))
