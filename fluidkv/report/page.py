"""A page of text, 80 columns wide: titles, labelled rows, tables.

Nothing in it is markup, and controls that come from outside are spelled out.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from rich.console import Console
from rich.text import Text

from fluidkv.text import printable

WIDTH = 80
_LABEL = 14  # columns of the labels of rows, with the blanks behind them
Said = str | Text
T = TypeVar("T")
Row = tuple[str, Said]


class Page:
    """Writes to standard output, line by line; in colours where that is a terminal."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False, emoji=False)

    def line(self, text: Said = "", style: str = "") -> None:
        """One line, which is not wrapped."""
        text = _text(text)
        text.rstrip()
        self._console.print(text, style=style, soft_wrap=True)

    def paragraph(self, text: Said, style: str = "", indent: int = 0) -> None:
        """As many lines as it takes; none for no text."""
        if text:
            for line in self._wrapped(text, WIDTH - indent):
                self.line(Text(" " * indent) + line, style)

    def title(self, text: str, rest: str = "") -> None:
        """A bold line, and in it what is not bold."""
        self.paragraph(Text(printable(text), "bold") + _text(rest))

    def heading(self, text: str, rest: str = "") -> None:
        self.line()
        self.title(text, rest)

    def rows(self, rows: Iterable[Row], width: int = _LABEL) -> None:
        """Label and text, wrapped beside the label; a longer label makes room for itself."""
        rows = list(rows)
        room = max([width, *(len(label) + 1 for label, _ in rows)])
        for label, text in rows:
            for place, line in enumerate(self._wrapped(text, WIDTH - room)):
                name = "" if place else label
                self.line(Text(f"{printable(name):<{room}}", "dim") + line)

    def table(self, header: Sequence[str], rows: Iterable[Sequence[str] | None]) -> None:
        """The first column to the left, others to the right; None: rows that are left out."""
        left_out = ["..."] * len(header)
        cells = [header, *(left_out if row is None else row for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        gap = 2 if sum(widths) + 2 * len(widths) - 2 <= WIDTH else 1
        for place, row in enumerate(cells):
            first = f"{row[0]:<{widths[0]}}"
            rest = [f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)][1:]
            self.line((" " * gap).join([first, *rest]), "" if place else "dim")

    def _wrapped(self, text: Said, width: int) -> list[Text]:
        text = _text(text)
        return list(text.wrap(self._console, width, overflow="fold")) or [Text()]


def _text(said: Said) -> Text:
    """Of text that may come from outside: no markup, and nothing that moves a terminal."""
    return said if isinstance(said, Text) else Text(printable(said))


def ends(rows: Sequence[T], most: int) -> list[T | None]:
    """All rows, or the first and last of them with None between."""
    if len(rows) <= most:
        return list(rows)
    return [*rows[: most // 2], None, *rows[-(most // 2) :]]
