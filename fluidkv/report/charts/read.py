"""A canvas as plain JSON: panels, legends, and where they stand."""

from typing import Any

from fluidkv.figures.figure import Figure
from fluidkv.report.charts.canvas import drawn
from fluidkv.report.charts.layout import arranged
from fluidkv.report.charts.legends import read_legend
from fluidkv.report.charts.names import give_names
from fluidkv.report.charts.panels import read_panel
from fluidkv.report.charts.words import plain

Spec = dict[str, Any]


def read_figure(figure: Figure) -> Spec:
    """Everything that a browser needs to draw the figure again.

    Raises:
        MissingInput: from the figure's data.
        NotImplementedError: it has something that is not read.
    """
    data = figure.data()
    with drawn(figure, data) as canvas:
        title, below = _titles(figure, canvas)
        spec = read_canvas(canvas)
    return {"title": title, "below": below, "caption": figure.caption(data)} | spec


def read_canvas(canvas: Any) -> Spec:
    """The panels and legends of a canvas that is drawn.

    Raises:
        NotImplementedError: it has something that is not read.
    """
    _require_known(canvas)
    shared = {"x": canvas.get_supxlabel(), "y": canvas.get_supylabel()}
    axes = [ax for ax in _all(canvas.axes) if ax.get_visible()]
    panels = [read_panel(ax, shared) for ax in axes]
    _hosts(axes, panels)
    legends = []
    for number, ax in enumerate(axes):
        if ax.get_legend() is not None:
            own = _spoken_of(axes, panels, number)
            found = read_legend(ax.get_legend(), [(n, panels[n]) for n in own])
            legends.append(found | {"panel": panels[number].get("over", number)})
    everywhere = list(enumerate(panels))
    legends += [read_legend(legend, everywhere) for legend in canvas.legends]
    give_names(panels)
    inside = {each for ax in axes for each in ax.child_axes}
    apart = {
        number: panel["box"]
        for number, (ax, panel) in enumerate(zip(axes, panels, strict=True))
        if ax not in inside and "over" not in panel
    }
    below = [number for number, ax in enumerate(axes) if ax in inside]
    tree = arranged({number: tuple(box) for number, box in apart.items()})
    if below:
        tree = {"rows": [tree, *below], "share": [1, *[0.4] * len(below)]}
    width, height = (round(float(each), 2) for each in canvas.get_size_inches())
    return {
        "size": [width, height],
        "panels": panels,
        "legends": legends,
        "layout": tree,
        "linked": {axis: _linked(axes, axis) for axis in "xy"},
    }


def _all(axes: list[Any]) -> list[Any]:
    """Insets behind the axes that they stand in."""
    return [each for ax in axes for each in (ax, *(c for c in ax.child_axes if c not in axes))]


def _spoken_of(axes: list[Any], panels: list[Spec], number: int) -> list[int]:
    """Panels of a legend: its own, what stands over it, and those beside without a legend."""
    beside = axes[number].get_shared_x_axes().get_siblings(axes[number])
    return [
        n
        for n, each in enumerate(panels)
        if number in (n, each.get("over")) or (axes[n] in beside and axes[n].get_legend() is None)
    ]


def _hosts(axes: list[Any], panels: list[Spec]) -> None:
    """Axes with a second scale stand over the first ones in the same place."""
    for number, ax in enumerate(axes):
        for other in range(number):
            twins = axes[other].get_position().bounds == ax.get_position().bounds
            if twins and "over" not in panels[other] and "over" not in panels[number]:
                panels[number]["over"] = other


def _linked(axes: list[Any], axis: str) -> list[int]:
    """Of each panel the first one that it shares this axis with: they zoom together."""
    groups = [getattr(ax, f"get_shared_{axis}_axes")().get_siblings(ax) for ax in axes]
    return [min(axes.index(each) for each in group if each in axes) for group in groups]


def _require_known(canvas: Any) -> None:
    """On a figure itself stand titles, legends and axes."""
    words = {canvas._suptitle, canvas._supxlabel, canvas._supylabel}
    known = {canvas.patch, *canvas.axes, *canvas.legends, *filter(None, words)}
    for each in canvas.get_children():
        if each not in known:
            raise NotImplementedError(f"a {type(each).__name__} on the figure itself")


def _titles(figure: Figure, canvas: Any) -> tuple[str, str]:
    """The title, and lines below it that the drawing added."""
    written, title = plain(canvas.get_suptitle()), " ".join(plain(figure.title).split())
    words = " ".join(written.split())
    return (title, words[len(title) :].strip()) if words.startswith(title) else (words, "")
