"""PathCollection: the points of `scatter`, one mark a look."""

from collections import defaultdict
from typing import Any

import numpy as np

from fluidkv.figures.figure import Axes
from fluidkv.report.charts import colours
from fluidkv.report.charts.marks.placed import Spec, coordinates, hexed, named, rounded_along
from fluidkv.report.charts.marks.shapes import outline

_GRID = (2000, 1000)  # points of one look closer than a cell of it cover each other


def read_points(ax: Axes, points: Any) -> list[Spec]:
    """One mark for each pair of colours; points that lie on each other are given once.

    Raises:
        NotImplementedError: several outlines in one collection.
    """
    places = np.ma.filled(np.ma.asarray(points.get_offsets(), dtype=float), np.nan)
    there = np.isfinite(places).all(axis=1)
    if not there.any():
        return []
    if len(points.get_paths()) != 1:
        raise NotImplementedError("points of several shapes in one collection")
    shape = outline(points.get_paths()[0])
    placed = named(points) | coordinates(ax, points.get_offset_transform())
    looks: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for index in np.flatnonzero(there).tolist():
        looks[point_look(points, index)].append(index)
    found = []
    for (face, edge, opacity, width, size), rows in looks.items():
        kept = _apart(ax, placed, places[rows])
        spec = {"kind": "points", "shape": shape, "size": size, "face": face, "edge": edge}
        spec |= {"edge_width": width} | ({"opacity": opacity} if opacity < 1 else {})
        spec |= {axis: rounded_along(ax, placed, axis, kept[:, k]) for k, axis in enumerate("xy")}
        found.append(placed | spec | ({"of": len(rows)} if len(kept) < len(rows) else {}))
    return found


def point_look(points: Any, index: int) -> tuple[Any, ...]:
    faces, edges = points.get_facecolor(), points.get_edgecolor()
    sizes, widths = points.get_sizes(), points.get_linewidth()
    face, opacity = hexed(faces[index % len(faces)]) if len(faces) else ("", 0.0)
    edge, seen = hexed(edges[index % len(edges)]) if len(edges) else ("", 0.0)
    return (
        colours.mark(face) if opacity else "none",
        colours.mark(edge) if seen else "none",
        opacity or seen,
        round(float(widths[index % len(widths)]), 2),
        round(float(np.sqrt(sizes[index % len(sizes)])), 2),
    )


def _apart(ax: Axes, placed: Spec, places: Any) -> Any:
    """The points without those that lie on another, on a grid finer than the screen."""
    if placed or len(places) <= _GRID[1]:
        return places
    inside = ax.transAxes.inverted().transform(ax.transData.transform(places))
    _, first = np.unique(np.round(inside * _GRID).astype(int), axis=0, return_index=True)
    return places[np.sort(first)]
