"""LineCollection: `hlines`, `vlines` and the bars of errors, one mark a look."""

from collections import defaultdict
from typing import Any

import numpy as np

from fluidkv.figures.figure import Axes
from fluidkv.report.charts import colours
from fluidkv.report.charts.marks.placed import Spec, coordinates, hexed, named
from fluidkv.report.charts.thin import rounded


def read_segments(ax: Axes, lines: Any) -> list[Spec]:
    """Straight pieces from (x[k], y[k]) to (x2[k], y2[k])."""
    placed = named(lines) | coordinates(ax, lines.get_transform())
    looks: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for index, line in enumerate(lines.get_segments()):
        corners = np.asarray(line, float)
        pieces = np.hstack([corners[:-1], corners[1:]])
        looks[segment_look(lines, index)] += [p for p in pieces.tolist() if np.isfinite(p).all()]
    found = []
    for (stroke, opacity, width, dashed), pieces in looks.items():
        if not pieces:
            continue
        ends = np.array(pieces)
        spec = {"kind": "segments", "stroke": stroke, "width": width}
        spec |= {"opacity": opacity} if opacity < 1 else {}
        spec |= {"dash": "6 3.5"} if dashed else {}
        for column, name in enumerate(("x", "y", "x2", "y2")):
            axis = name[0]
            limits = (0, 1) if placed.get(f"c{axis}") else getattr(ax, f"get_{axis}lim")()
            spec[name] = rounded(ends[:, column], limits, getattr(ax, f"get_{axis}scale")())
        found.append(placed | spec)
    return found


def segment_look(lines: Any, index: int) -> tuple[Any, ...]:
    shades, widths, styles = lines.get_edgecolor(), lines.get_linewidth(), lines.get_linestyle()
    colour, opacity = hexed(shades[index % len(shades)])
    _, dashes = styles[index % len(styles)]
    width = round(float(widths[index % len(widths)]), 2)
    return colours.mark(colour), opacity, width, dashes is not None
