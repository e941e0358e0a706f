"""Blocks in a terminal, 80 columns wide."""

from rich.console import Console
from rich.text import Text

from fluidkv.report.blocks import Block, Line, Paragraph, Rows, Table, Title, Verdict

WIDTH = 80
_NO_TEXT = Text()


class Terminal:
    """Writes to standard output, line by line; in colours where that is a terminal."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._gap = False  # below a verdict

    def write(self, block: Block) -> None:
        if self._gap and not (isinstance(block, Title) and block.opens):
            self._line(Text())
        self._gap = isinstance(block, Verdict)
        match block:
            case Line(text, style):
                self._line(text, style)
            case Paragraph(text, style, indent):
                for line in self._wrapped(text, WIDTH - indent):
                    self._line(Text(" " * indent) + line, style)
            case Verdict(text):
                self._bold(text)
            case Title(text, rest, opens):
                if opens:
                    self._line(Text())
                self._bold(text, rest)
            case Rows():
                self._rows(block)
            case Table():
                self._table(block)

    def _bold(self, text: Text, rest: Text = _NO_TEXT) -> None:
        bold = text.copy()
        bold.stylize("bold")
        for line in self._wrapped(bold + rest, WIDTH):
            self._line(line)

    def _line(self, text: Text, style: str = "") -> None:
        text = text.copy()
        text.rstrip()
        self._console.print(text, style=style, soft_wrap=True)

    def _rows(self, block: Rows) -> None:
        room = max([block.width, *(len(label) + 1 for label, _ in block.rows)])
        for label, text in block.rows:
            for place, line in enumerate(self._wrapped(text, WIDTH - room)):
                name = "" if place else label
                self._line(Text(f"{name:<{room}}", "dim") + line)

    def _table(self, block: Table) -> None:
        left_out = ("...",) * len(block.header)
        rows = [block.header, *(left_out if row is None else row for row in block.rows)]
        cells = [row for row in rows if not isinstance(row, str)]
        needed = [max(map(len, column)) for column in zip(*cells, strict=True)]
        least = block.least or [0] * len(needed)
        widths = [max(pair) for pair in zip(needed, least, strict=True)]
        gap = 2 if sum(widths) + 2 * len(widths) - 2 <= WIDTH else 1
        for row in rows[1:] if block.goes_on else rows:
            if isinstance(row, str):
                self._line(Text(row))
                continue
            first = f"{row[0]:<{widths[0]}}"
            rest = [f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)][1:]
            self._line(Text((" " * gap).join([first, *rest])), "dim" if row is block.header else "")

    def _wrapped(self, text: Text, width: int) -> list[Text]:
        return list(text.wrap(self._console, width, overflow="fold")) or [Text()]
