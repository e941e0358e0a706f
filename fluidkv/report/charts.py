"""Figures in a page: the SVG that `--out` writes, in the page's colours, and its numbers.

Each series says its name under the pointer. mpld3, which would add zoom, knows neither an axis that
is logarithmic on both sides of zero nor keys and screen readers, and keeps its own colours.
"""

import re
from collections.abc import Iterator
from html import escape
from io import BytesIO
from typing import Any

import numpy as np

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.render import drawn
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, PURPLE
from fluidkv.report.body import table

ROWS = 100
"""Of a table at most; of a longer one every second is left out, or two of three, and so on."""
_EXACT = "Numbers as they are drawn. --out writes all of them, unrounded."
# Colours that look.css has for light and for dark; of others a figure keeps its own.
_COLOURS = {
    BLUE: "var(--blue)",
    ORANGE: "var(--orange)",
    GREEN: "var(--green)",
    PURPLE: "var(--purple)",
    GREY: "var(--grey)",
    PALE: "var(--line)",
    BLACK: "var(--ink)",
    "#000000": "var(--ink)",
    "#ffffff": "var(--paper)",
}
_COLOUR = re.compile("|".join(_COLOURS), re.IGNORECASE)
_NAMED = {colour.lower(): name for colour, name in _COLOURS.items()}


def chart(figure: Figure, *, name: str | None = None) -> str:
    """An HTML fragment for a figure: title, picture, caption, numbers.

    Args:
        name: id of the element, one of a kind in its document; by default the figure's id.

    Raises:
        MissingInput: from the figure's data.
    """
    data, name = figure.data(), escape(name or figure.id)
    with drawn(figure, data) as canvas:
        title = " ".join(canvas.get_suptitle().split())
        canvas.suptitle("")
        series = _series(canvas)
        picture = BytesIO()
        canvas.savefig(picture, format="svg", metadata={"Date": None})
    svg = _inline(picture.getvalue().decode(), name, series)
    return (
        f'<figure class="chart" id="{name}" aria-labelledby="{name}-title">'
        f'<p class="chart-title" id="{name}-title">{escape(title)}</p>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="Picture: {escape(title)}">'
        f"{svg}</div><figcaption>{escape(figure.caption(data))}</figcaption>"
        f"<details><summary>Numbers of this chart</summary><p>{_EXACT}</p>"
        f"{''.join(_tables(data, title))}</details></figure>"
    )


def _series(canvas: Canvas) -> dict[str, str]:
    """Names of what a legend could name: id of its group in the picture -> label."""
    labels: dict[str, str] = {}
    for ax in canvas.axes:
        whole = {part: each.get_label() for each in ax.containers for part in each.get_children()}
        for artist in ax.get_children():
            label = whole.get(artist) or artist.get_label()
            if isinstance(label, str) and label and not label.startswith("_"):
                artist.set_gid(f"series-{len(labels) + 1}")
                labels[f"series-{len(labels) + 1}"] = label
    return labels


def _inline(svg: str, name: str, series: dict[str, str]) -> str:
    """The picture as an element of a page, whose policy allows no styles but the page's own.

    Words are paths in it, so that nothing foreign is markup; comments say them again and go.
    """
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.S)
    svg = re.sub(r'style="([^"]*)"', lambda style: _attributes(style[1]), svg)
    svg = _COLOUR.sub(lambda colour: _NAMED[colour[0].lower()], svg)
    svg = re.sub(r'(\sid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    for group, label in series.items():
        opened = f'<g id="{name}-{group}">'
        svg = svg.replace(opened, f"{opened}<title>{escape(label)}</title>")
    start = svg.index("<svg") + len("<svg")
    return f'<svg role="img" aria-labelledby="{name}-title"{svg[start:]}'


def _attributes(style: str) -> str:
    pairs = (each.partition(":") for each in style.split(";") if each.strip())
    return " ".join(f'{name.strip()}="{value.strip()}"' for name, _, value in pairs)


def _tables(data: Data, title: str) -> Iterator[str]:
    """Numbers that stand alone, and a table for each group of series of one length."""
    groups: dict[int | None, dict[str, Any]] = {}
    for name, values in data.items():
        array = np.asarray(values)
        length = len(array) if array.ndim else None
        columns = array.reshape(len(array), -1).T if array.ndim > 1 else [array]
        for number, column in enumerate(columns, 1):
            own = f"{name} {number}" if len(columns) > 1 else name
            groups.setdefault(length, {})[own] = column.tolist()
    alone = groups.pop(None, {})
    if alone:
        yield table(["number", "value"], [(name, _number(alone[name])) for name in alone], title)
    for length, columns in groups.items():
        every = max(1, -(-(length or 0) // ROWS))
        thinned = f"; 1 row of every {every}" if every > 1 else ""
        cells = [[_number(value) for value in column[::every]] for column in columns.values()]
        yield table(list(columns), zip(*cells, strict=True), title + thinned)


def _number(value: Any) -> str:
    """With as many digits as a screen can show."""
    if isinstance(value, str):
        return value
    return "-" if value != value else f"{value:,.6g}"
