"""PolyCollection and patches: bands, spans, bars and other areas."""

from typing import Any

import numpy as np

from fluidkv.figures.figure import Axes
from fluidkv.report.charts import colours
from fluidkv.report.charts.marks.placed import Spec, coordinates, hexed, named, rounded_along
from fluidkv.report.charts.thin import envelope, rounded


def read_areas(ax: Axes, areas: Any) -> list[Spec]:
    """The polygons of `fill_between` as bands from low to high; of others their corners."""
    faces, edges = areas.get_facecolor(), areas.get_edgecolor()
    widths = areas.get_linewidth()
    placed = named(areas) | coordinates(ax, areas.get_transform())
    found = []
    for index, path in enumerate(areas.get_paths()):
        if not len(path.vertices) or not len(faces):
            continue
        look = area_look(
            faces[index % len(faces)],
            edges[index % len(edges)] if len(edges) else None,
            widths[index % len(widths)],
        )
        found.append(placed | look | _area(ax, np.asarray(path.vertices)))
    return found


def read_patch(ax: Axes, patch: Any) -> list[Spec]:
    """A rectangle (a bar, a span) or a polygon.

    Raises:
        NotImplementedError: another shape.
    """
    from matplotlib.patches import Polygon, Rectangle

    look = named(patch) | area_look(
        patch.get_facecolor(), patch.get_edgecolor(), patch.get_linewidth()
    )
    look |= coordinates(ax, patch.get_transform())
    if isinstance(patch, Rectangle) and not patch.get_angle():
        x, y = patch.get_xy()
        ends = [x, x + patch.get_width()], [y, y + patch.get_height()]
        xs, ys = (rounded_along(ax, look, axis, e) for axis, e in zip("xy", ends, strict=True))
        return [look | {"kind": "box", "x": xs, "y": ys}]
    if isinstance(patch, Polygon):
        return [look | _area(ax, np.asarray(patch.get_xy()))]
    raise NotImplementedError(f"a patch of kind {type(patch).__name__}")


def _area(ax: Axes, corners: Any) -> Spec:
    for along in ("x", "y"):
        band = _band(corners if along == "x" else corners[:, ::-1])
        if band is None:
            continue
        at, low, high = band
        rows = envelope(at, low, high)
        limits = {axis: getattr(ax, f"get_{axis}lim")() for axis in "xy"}
        scales = {axis: getattr(ax, f"get_{axis}scale")() for axis in "xy"}
        over = "y" if along == "x" else "x"
        spec: Spec = {"kind": "band", "along": along}
        spec["at"] = rounded(at[rows], limits[along], scales[along])
        spec["low"] = rounded(low[rows], limits[over], scales[over])
        spec["high"] = rounded(high[rows], limits[over], scales[over])
        return spec | ({"of": len(at)} if len(rows) < len(at) else {})
    xs, ys = (
        rounded(corners[:, k], getattr(ax, f"get_{a}lim")(), getattr(ax, f"get_{a}scale")())
        for k, a in enumerate("xy")
    )
    return {"kind": "area", "x": xs, "y": ys}


def _band(corners: Any) -> tuple[Any, Any, Any] | None:
    """Places, and both ends there, of a polygon that runs along one side and back the other."""
    if len(corners) % 2 == 0 or len(corners) < 5:
        return None
    count = (len(corners) - 3) // 2
    there, back = corners[1 : count + 1], corners[count + 2 : 2 * count + 2][::-1]
    if not np.array_equal(there[:, 0], back[:, 0]):
        return None
    return there[:, 0], there[:, 1], back[:, 1]


def area_look(face: Any, edge: Any, width: float) -> Spec:
    colour, opacity = hexed(face)
    look: Spec = {"fill": colours.ground(colour) if opacity else "none"}
    if 0 < opacity < 1:
        look["opacity"] = opacity
    edge_colour, edge_opacity = ("", 0.0) if edge is None else hexed(edge)
    if width and edge_opacity:
        look |= {"stroke": colours.mark(edge_colour), "width": round(float(width), 2)}
    return look
