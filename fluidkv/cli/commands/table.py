"""`fluidkv table`: a table of a paper beside our own numbers."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from fluidkv.cli.options import Json
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.report.page import Page
from fluidkv.report.terminal import WIDTH

if TYPE_CHECKING:
    from fluidkv.ledger.table import Column, Row, Table


LIST_KEYS = (
    ("tables[].table", "text", "if no N is given: its name"),
    ("tables[].title", "text", "if no N is given: of the table"),
)
"""Keys of the list of tables."""


def table(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[N]", help="Number in Congestion, or PAPER.N: 7, routing.2."),
    ] = None,
    json_: Json = False,
) -> None:
    """A table of a paper beside our own numbers. Without N, list them.

    Runs the same workloads in our engines and sets the numbers side by side.

    [bold]fluidkv table 7[/bold]
    """
    from fluidkv.ledger import registry

    if name is None:
        known = registry.tables()
        give(
            lambda: {"tables": [{"table": n, "title": each.title} for n, each in known.items()]},
            lambda page: page.rows([(n, each.title) for n, each in known.items()], width=11),
            as_json=json_,
            time=None,
        )
        return
    chosen = registry.table(name)
    with progress(f"running table {chosen.name}"):
        give(chosen.to_dict, lambda page: say_table(page, chosen), as_json=json_, time=None)


def say_table(page: Page, table: "Table") -> None:
    """The table in 80 columns, with its notes."""
    rows = table.data()
    cells = [[_cell(row, column) for column in table.columns] for row in rows]
    label = max(len(row.label) for row in rows) + 1
    widths = _widths(table.columns, cells, WIDTH - label)
    page.title(f"{table.source}. {table.title}")
    page.line()
    page.line(" " * label + _groups(table.columns, widths))
    page.line(" " * label + _line([column.header for column in table.columns], widths))
    for row, texts in zip(rows, cells, strict=True):
        page.line(f"{row.label:<{label}}" + _line(texts, widths))
        if row.percent:
            page.line()
    for note in table.notes:
        page.rows([("-", note)], width=2)


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
