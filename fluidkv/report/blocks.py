"""What an answer consists of, whoever writes it down: in a terminal or in a browser.

Texts are plain or carry styles; nothing in them is markup, and controls that come from outside are
spelled out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text

from fluidkv.text import printable

Said = str | Text
Row = tuple[str, Said]
Cells = Sequence[str] | str | None
TableRow = tuple[str, ...] | str | None


@dataclass(frozen=True)
class Line:
    """One line, which is not wrapped; without text it is a gap.

    Fields:
        text: what it says.
        style: of all of it, such as "dim".
    """

    text: Text
    style: str = ""


@dataclass(frozen=True)
class Paragraph:
    """As many lines as it takes.

    Fields:
        text: what it says.
        style: of all of it, such as "dim".
        indent: columns.
    """

    text: Text
    style: str = ""
    indent: int = 0


@dataclass(frozen=True)
class Verdict:
    """The answer in one sentence, before all else: one number, and how sure it is.

    Fields:
        text: the sentence.
    """

    text: Text


@dataclass(frozen=True)
class Title:
    """A bold line.

    Fields:
        text: the bold part.
        rest: what stands behind it and is not bold.
        opens: whether a part of the answer begins here.
    """

    text: Text
    rest: Text
    opens: bool = False


@dataclass(frozen=True)
class Rows:
    """Labels, and what is said of each; a row without a label goes on with the one above.

    Fields:
        rows: label and text.
        width: least columns of the labels, with the blanks behind them.
    """

    rows: tuple[tuple[str, Text], ...]
    width: int


@dataclass(frozen=True)
class Table:
    """The first column names its rows.

    Fields:
        header: of the columns.
        rows: cells; a text: a line across, for the rows below it; None: rows that are left out.
        least: columns of text that each column takes at least; none where that is left open.
        goes_on: the columns are those of the table above, and a terminal has their names there.
    """

    header: tuple[str, ...]
    rows: tuple[TableRow, ...]
    least: tuple[int, ...] = ()
    goes_on: bool = False


Block = Line | Paragraph | Verdict | Title | Rows | Table


def of_rows(rows: Iterable[Row], width: int) -> Rows:
    return Rows(tuple((printable(label), said(text)) for label, text in rows), width)


def of_cells(row: Cells) -> TableRow:
    if row is None or isinstance(row, str):
        return row and printable(row)
    return tuple(map(printable, row))


def coloured(word: str, style: str, rest: str) -> Text:
    """A word in capitals and in a colour, and what stands behind it."""
    return Text.assemble((word.upper(), style), (f"  {rest}", "default"))


def said(text: Said) -> Text:
    """Of text that may come from outside: no markup, and nothing that moves a terminal."""
    return text if isinstance(text, Text) else Text(printable(text))
