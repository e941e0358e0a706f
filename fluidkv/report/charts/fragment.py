"""The HTML of one chart, and what a document with charts needs once."""

from html import escape
from importlib.resources import files

from fluidkv.figures.figure import Figure

_ASSETS = files("fluidkv.report") / "assets"


def chart(figure: Figure, *, name: str | None = None) -> str:
    """An HTML fragment for a figure.

    Args:
        name: of the element, one of a kind in its document; by default the figure's id.
    """
    data = figure.data()
    name = escape(name or figure.id)
    return (
        f'<figure class="chart" id="{name}" aria-labelledby="{name}-title">'
        f'<p class="chart-title" id="{name}-title">{escape(figure.title)}</p>'
        f"<figcaption>{escape(figure.caption(data))}</figcaption></figure>"
    )


def style() -> str:
    """CSS of charts; goes with `look.css`."""
    return (_ASSETS / "chart.css").read_text(encoding="utf-8")


def script() -> str:
    """d3 and what draws the charts of a document; belongs at its end."""
    names = ("d3.min.js", "chart.js")
    return "\n".join((_ASSETS / name).read_text(encoding="utf-8") for name in names)
