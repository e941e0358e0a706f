"""The HTML of one chart, and what a document with charts needs once."""

import json
from html import escape
from importlib.resources import files
from typing import Any

from fluidkv.figures.figure import Figure
from fluidkv.report.charts.joined import share_arrays
from fluidkv.report.charts.read import read_figure
from fluidkv.report.charts.table import tables

_ASSETS = files("fluidkv.report") / "assets"
# In a script element these would end it, or open a comment, or be a line's end to old parsers.
_ESCAPED = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_EXACT = "Numbers are rounded to what a screen can show. --out writes all of them, unrounded."


def chart(figure: Figure, *, name: str | None = None) -> str:
    """An HTML fragment for a figure: title, drawing, key, caption, numbers.

    Args:
        name: id of the element, one of a kind in its document; by default the figure's id.

    Raises:
        MissingInput: from the figure's data.
        NotImplementedError: it has something that the browser cannot draw.
    """
    spec = read_figure(figure)
    numbers = tables(spec)
    spec["arrays"] = share_arrays(spec["panels"])
    name = escape(name or figure.id)
    below = f'<p class="chart-below">{escape(spec["below"])}</p>' if spec["below"] else ""
    return (
        f'<figure class="chart" id="{name}" aria-labelledby="{name}-title">'
        f'<p class="chart-title" id="{name}-title">{escape(spec["title"])}</p>{below}'
        '<div class="chart-tools" role="group" aria-label="Zoom" hidden></div>'
        '<div class="chart-stage"></div><div class="chart-key"></div>'
        f'<p class="chart-help" id="{name}-help"></p>'
        "<noscript><p>The picture needs JavaScript; its numbers are in the tables below.</p>"
        f'</noscript><p class="chart-live" aria-live="polite"></p>'
        f"<figcaption>{escape(spec['caption'])}</figcaption>"
        "<details><summary>Numbers of this chart</summary>"
        f'<p>{_EXACT}</p><div class="chart-scroll" tabindex="0" role="region" '
        f'aria-label="Numbers of {escape(spec["title"])}">{numbers}</div></details>'
        f'<script type="application/json">{embedded(spec)}</script></figure>'
    )


def embedded(value: Any) -> str:
    """JSON that can stand in a script element, whatever the texts in it are."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPED)


def style() -> str:
    """CSS of charts; goes with `look.css`."""
    return (_ASSETS / "chart.css").read_text(encoding="utf-8")


def script() -> str:
    """d3 and what draws the charts of a document; belongs at its end."""
    names = ("d3.min.js", "chart.js")
    return "\n".join((_ASSETS / name).read_text(encoding="utf-8") for name in names)
