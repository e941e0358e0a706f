"""A page of text: titles, labelled rows, tables; what a command's answer is written on.

It prints as it is written, or leaves its blocks to somebody else.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from fluidkv.report.blocks import (
    Block,
    Cells,
    Line,
    Paragraph,
    Row,
    Said,
    Table,
    Title,
    Verdict,
    of_cells,
    of_rows,
    said,
)
from fluidkv.report.terminal import Terminal
from fluidkv.text import printable

_LABEL = 14  # columns of the labels of rows, with the blanks behind them
T = TypeVar("T")


class Page:
    """Where a command writes its answer.

    Args:
        take: gets each block; by default it is printed, in colours where that is a terminal.
    """

    def __init__(self, take: Callable[[Block], object] | None = None) -> None:
        self._take = Terminal().write if take is None else take

    def line(self, text: Said = "", style: str = "") -> None:
        """One line, which is not wrapped."""
        text = said(text)
        text.rstrip()
        self._take(Line(text, style))

    def paragraph(self, text: Said, style: str = "", indent: int = 0) -> None:
        """As many lines as it takes; none for no text."""
        if text:
            self._take(Paragraph(said(text), style, indent))

    def verdict(self, text: str) -> None:
        """The answer in one sentence, which a report has as its heading; it comes first."""
        self._take(Verdict(said(text)))

    def title(self, text: str, rest: str = "") -> None:
        """A bold line, and in it what is not bold."""
        self._take(Title(said(text), said(rest)))

    def heading(self, text: str, rest: str = "") -> None:
        """A title behind a gap: a part of the answer begins."""
        self._take(Title(said(text), said(rest), opens=True))

    def rows(self, rows: Iterable[Row], width: int = _LABEL) -> None:
        """Label and text, wrapped beside the label; a longer label makes room for itself."""
        self._take(of_rows(rows, width))

    def table(
        self,
        header: Sequence[str],
        rows: Iterable[Cells],
        *,
        least: Sequence[int] = (),
        goes_on: bool = False,
    ) -> None:
        """The first column to the left, others to the right.

        Args:
            header: of the columns.
            rows: cells; a text: a line across; None: rows that are left out.
            least: columns of text that each takes at least.
            goes_on: has the columns of the table above, and does not name them again.
        """
        self._take(
            Table(tuple(map(printable, header)), tuple(map(of_cells, rows)), tuple(least), goes_on)
        )


def ends(rows: Sequence[T], most: int) -> list[T | None]:
    """All rows, or the first and last of them with None between."""
    if len(rows) <= most:
        return list(rows)
    return [*rows[: most // 2], None, *rows[-(most // 2) :]]
