"""Blocks as HTML that says what they are: headings, lists of terms, tables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise

from rich.text import Text

from fluidkv.report.blocks import Block, Line, Paragraph, Rows, Table, TableRow, Title

# What a style of a terminal means; the words say it as well.
_CLASSES = {
    "bold": "strong",
    "dim": "quiet",
    "bold green": "good",
    "bold red": "bad",
    "bold yellow": "doubt",
}
_INDENT = "  "  # so begins a line to paste


@dataclass(frozen=True)
class Section:
    """A part of an answer.

    Fields:
        heading: plain text; "" for what stands before the first heading.
        rest: HTML of what stands behind it, with the blank between them.
        html: what is below.
    """

    heading: str
    rest: str
    html: str


def sections(blocks: Iterable[Block]) -> list[Section]:
    """An answer in its parts, each below its title."""
    parts: list[tuple[Title, list[Block]]] = [(Title(Text(), Text()), [])]
    for block in blocks:
        if isinstance(block, Title):
            parts.append((block, []))
        else:
            parts[-1][1].append(block)
    found = [
        Section(title.text.plain.strip(), inline(title.rest), _blocks(inside, title.text.plain))
        for title, inside in parts
    ]
    return [each for each in found if each.heading or each.html]


def inline(text: Text, style: str = "") -> str:
    """Text with its styles as classes; everything in it is escaped.

    Args:
        text: what it says.
        style: of all that has none of its own.
    """
    ends = sorted({0, len(text.plain), *(at for s in text.spans for at in (s.start, s.end))})
    parts = []
    for start, end in pairwise(ends):
        styles = [str(s.style) for s in text.spans if s.start <= start and s.end >= end]
        own = styles[-1] if styles else style or str(text.style)
        parts.append(_styled(escape(text.plain[start:end]), own))
    return "".join(parts)


def table(header: Sequence[str], rows: Iterable[TableRow], label: str) -> str:
    """A table that scrolls on its own where a window is narrow.

    Args:
        header: of the columns.
        rows: as a block has them.
        label: what it shows, for who does not see where it stands.
    """
    head = "".join(
        f'<th scope="col">{escape(name)}</th>' if name else "<td></td>" for name in header
    )
    rows = list(rows)
    named = _named_by(rows)
    lines = "".join(_table_row(row, header, named) for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Table: {escape(label)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _named_by(rows: Sequence[TableRow]) -> int:
    """The column that names a row: the first, or the second where the first has only marks."""
    firsts = [row[0] for row in rows if isinstance(row, tuple) and len(row) > 1]
    return int(bool(firsts) and not any(sign.isalnum() for each in firsts for sign in each))


def _table_row(row: TableRow, header: Sequence[str], named: int) -> str:
    """Each cell has its column's name, which a phone shows in front of it."""
    columns = len(header)
    if row is None:
        return f'<tr><td colspan="{columns}">rows between are left out</td></tr>'
    if isinstance(row, str):
        return (
            f'<tr class="across"><th scope="colgroup" colspan="{columns}">{escape(row)}</th></tr>'
        )
    names = [f' data-column="{escape(name)}"' if name else "" for name in header]
    cells = [f"<td{name}>{escape(cell)}</td>" for name, cell in zip(names, row, strict=True)]
    cells[named] = f'<th scope="row"{names[named]}>{escape(row[named])}</th>'
    return f"<tr>{''.join(cells)}</tr>"


def _blocks(blocks: Iterable[Block], label: str) -> str:
    """Lines to paste that follow each other are one piece, and so are rows; a gap is a rule."""
    parts: list[str] = []
    for kind, run in groupby(blocks, _kind):
        same = list(run)
        if kind == "gap":
            parts += ["<hr>"] if parts else []
        elif kind == "paste":
            text = "\n".join(each.text.plain.strip() for each in same if isinstance(each, Line))
            parts.append(f'<pre class="paste" tabindex="0"><code>{escape(text)}</code></pre>')
        elif kind == "rows":
            parts.append(
                _rows([row for each in same if isinstance(each, Rows) for row in each.rows])
            )
        else:
            parts += [_one(each, label or "answer") for each in same]
    while parts and parts[-1] == "<hr>":
        del parts[-1]
    return "\n".join(filter(None, parts))


def _kind(block: Block) -> str:
    if isinstance(block, Rows):
        return "rows"
    if isinstance(block, Line) and not block.text.plain:
        return "gap"
    return "paste" if isinstance(block, Line) and block.text.plain.startswith(_INDENT) else "one"


def _one(block: Block, label: str) -> str:
    if isinstance(block, Table):
        return table(block.header, block.rows, label)
    assert isinstance(block, Line | Paragraph)
    return f"<p>{inline(block.text, block.style)}</p>"


def _rows(rows: Sequence[tuple[str, Text]]) -> str:
    """A list of terms; what has none goes with the term above."""
    groups: list[tuple[str, list[Text]]] = []
    for label, text in rows:
        if label or not groups:
            groups.append((label, []))
        groups[-1][1].append(text)
    parts = []
    for label, texts in groups:
        said = "".join(f"<dd>{inline(text)}</dd>" for text in texts)
        parts.append(f"<div><dt>{escape(label.strip())}</dt>{said}</div>")
    return f"<dl>{''.join(parts)}</dl>" if parts else ""


def _styled(html: str, style: str) -> str:
    name = _CLASSES.get(style)
    return f'<span class="{name}">{html}</span>' if name and html else html
