"""Axes of a canvas as panels: their two axes, and everything that is drawn on them."""

from collections.abc import Callable
from typing import Any

from fluidkv.figures.figure import Axes
from fluidkv.report.charts.axes import read_axis
from fluidkv.report.charts.joined import joined
from fluidkv.report.charts.words import plain

Spec = dict[str, Any]
Reader = Callable[[Axes, Any], list[Spec]]


def read_panel(ax: Axes, shared: Spec) -> Spec:
    """A panel.

    Args:
        shared: words of the figure for axes without a label, by "x" and "y".

    Raises:
        NotImplementedError: something is drawn that no reader knows.
    """
    box = ax.get_position()
    titles = [plain(ax.get_title(loc)) for loc in ("left", "center", "right")]
    return {
        "title": " ".join(" ".join(filter(None, titles)).split()),
        "box": [round(float(each), 3) for each in (box.x0, box.y0, box.x1, box.y1)],
        "x": read_axis(ax, "x", shared.get("x", "")),
        "y": read_axis(ax, "y", shared.get("y", "")),
        **({"equal": 1} if ax.get_aspect() == 1 else {}),
        "marks": joined(read_marks(ax)),
    }


def read_marks(ax: Axes) -> list[Spec]:
    """All marks, the lowest first."""
    whole = _of_containers(ax)
    found = []
    for artist in sorted(artists(ax), key=lambda each: each.get_zorder()):
        if not artist.get_visible():
            continue
        for mark in reader(artist)(ax, artist):
            found.append(mark | whole.get(artist, {}))
    return found


def artists(ax: Axes) -> list[Any]:
    """What a figure put on the axes: neither the frame, nor titles, legends and insets."""
    from matplotlib.axes import Axes as Panel
    from matplotlib.axis import Axis
    from matplotlib.legend import Legend
    from matplotlib.spines import Spine

    frame = {
        ax.patch,
        ax.title,
        getattr(ax, "_left_title", None),
        getattr(ax, "_right_title", None),
    }
    kinds = (Panel, Axis, Legend, Spine)
    return [each for each in ax.get_children() if each not in frame and not isinstance(each, kinds)]


def reader(artist: Any) -> Reader:
    """Who reads this kind.

    Raises:
        NotImplementedError: nobody.
    """
    from matplotlib import collections, image, lines, patches, text

    from fluidkv.report.charts.marks.areas import read_areas, read_patch
    from fluidkv.report.charts.marks.grids import read_image, read_mesh
    from fluidkv.report.charts.marks.lines import read_line
    from fluidkv.report.charts.marks.points import read_points
    from fluidkv.report.charts.marks.segments import read_segments
    from fluidkv.report.charts.marks.texts import read_text

    readers: list[tuple[type, Reader]] = [
        (lines.Line2D, read_line),
        (collections.PolyCollection, read_areas),
        (collections.PathCollection, read_points),
        (collections.LineCollection, read_segments),
        (collections.QuadMesh, read_mesh),
        (image.AxesImage, read_image),
        (text.Text, read_text),
        (patches.Patch, read_patch),
    ]
    for kind, found in readers:
        if isinstance(artist, kind):
            return found
    raise NotImplementedError(f"nothing reads a {type(artist).__name__} for the browser")


def _of_containers(ax: Axes) -> dict[Any, Spec]:
    """Bars, and points with bars of errors: the parts go by the label of the whole."""
    found: dict[Any, Spec] = {}
    for container in ax.containers:
        label = plain(str(container.get_label() or ""))
        own: Spec = {} if label.startswith("_") or not label else {"label": label}
        if getattr(container, "orientation", None) == "horizontal":
            own["along"] = "h"
        parts = [part for part in container if part is not None]
        flat = [p for part in parts for p in (part if isinstance(part, tuple) else (part,))]
        found |= dict.fromkeys(flat, own)
    return found
