"""Line2D: curves, steps, markers, and the straight lines across a panel."""

from typing import Any

import numpy as np

from fluidkv.figures.figure import Axes
from fluidkv.report.charts import colours
from fluidkv.report.charts.marks.placed import Spec, coordinates, hexed, named
from fluidkv.report.charts.marks.shapes import marker_outline
from fluidkv.report.charts.thin import cut, envelope, rounded

_DASHES = {"-": "", "--": "6 3.5", ":": "1.5 3", "-.": "7 3 1.5 3"}
_STEPS = {"steps-pre": "before", "steps": "before", "steps-mid": "mid", "steps-post": "after"}


def read_line(ax: Axes, line: Any) -> list[Spec]:
    """A curve with its markers; a reference line where it runs across the whole panel."""
    x = np.ma.filled(np.ma.asarray(line.get_xdata(orig=False), dtype=float), np.nan)
    y = np.ma.filled(np.ma.asarray(line.get_ydata(orig=False), dtype=float), np.nan)
    if not len(x):
        return []
    found = named(line) | coordinates(ax, line.get_transform()) | line_look(line)
    if "stroke" not in found and "shape" not in found:
        return []
    across = _across(found, x, y)
    if across:
        value, limits, scale = (
            (y[0], ax.get_ylim(), ax.get_yscale())
            if across == "h"
            else (x[0], ax.get_xlim(), ax.get_xscale())
        )
        found.pop("cx" if across == "h" else "cy")
        return [found | {"kind": "rule", "along": across, "at": rounded([value], limits, scale)[0]}]
    return [found | {"kind": "line"} | _points(ax, line, x, y, found)]


def _points(ax: Axes, line: Any, x: Any, y: Any, found: Spec) -> Spec:
    rows = envelope(x, y)
    marked = line.get_markevery()
    if marked is not None and "shape" in found:
        # Markers are counted on the whole line: where it has them apart, it is not thinned.
        rows = np.arange(len(x))
        every = np.arange(len(x))[marked if isinstance(marked, list) else slice(0, None, marked)]
        found["marked"] = every.tolist()
    xs, ys = cut((x, y), rows)
    spec: Spec = {
        "x": rounded(xs, ax.get_xlim(), ax.get_xscale()),
        "y": rounded(ys, ax.get_ylim(), ax.get_yscale()),
    }
    return spec | ({"of": len(x)} if len(rows) < len(x) else {})


def _across(found: Spec, x: Any, y: Any) -> str:
    """ "h" or "v" for a line from edge to edge, else ""."""
    edges = [0.0, 1.0]
    if found.get("cx") and "cy" not in found and x.tolist() == edges and y[0] == y[-1]:
        return "h"
    if found.get("cy") and "cx" not in found and y.tolist() == edges and x[0] == x[-1]:
        return "v"
    return ""


def line_look(line: Any) -> Spec:
    """Stroke and marker; neither where nothing would be seen."""
    colour, opacity = hexed(line.get_color())
    alpha = line.get_alpha()
    look: Spec = {}
    if (opacity if alpha is None else alpha) < 1:
        look["opacity"] = opacity if alpha is None else float(alpha)
    if line.get_linestyle() not in ("None", "none", "", " ") and line.get_linewidth() > 0:
        look["stroke"] = colours.mark(colour)
        look["width"] = round(float(line.get_linewidth()), 2)
        look |= {"dash": dash} if (dash := _DASHES[line.get_linestyle()]) else {}
        look |= {"step": step} if (step := _STEPS.get(line.get_drawstyle())) else {}
    shape = marker_outline(line.get_marker())
    if shape:
        look |= {"shape": shape, "size": round(float(line.get_markersize()), 2)}
        look["edge"] = colours.mark(hexed(line.get_markeredgecolor())[0])
        look["edge_width"] = round(float(line.get_markeredgewidth()), 2)
        face = line.get_markerfacecolor()
        hollow = isinstance(face, str) and face == "none"
        look["face"] = "none" if hollow else colours.mark(hexed(face)[0])
    return look
