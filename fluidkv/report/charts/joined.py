"""Marks that are one thing to a reader: single points, bars, errors around points, bands."""

from collections.abc import Sequence
from itertools import count
from typing import Any

Spec = dict[str, Any]
_SHARED = 20  # numbers; a shorter list is not worth a reference


def joined(marks: Sequence[Spec]) -> list[Spec]:
    """Boxes of one look are one series of bars, single points of one look one series of points.

    Bars of errors through points, and bands in the colour of a line, are `beside`: their values
    are told with those.
    """
    found: list[Spec] = []
    series: dict[str, Spec] = {}
    for mark in map(_as_points, marks):
        parts = _PARTS.get(mark["kind"])
        if parts is None or "cx" in mark or "cy" in mark:
            found.append(mark)
            continue
        look = repr({key: mark[key] for key in sorted(mark) if key not in (*parts, "label")})
        known = series.get(look)
        if known is None or not _one_name(known, mark):
            series[look] = mark | {name: list(mark[name]) for name in parts}
            found.append(series[look])
            continue
        known |= {"label": mark["label"]} if "label" in mark else {}
        for name in parts:
            known[name] += mark[name]
    for mark in found:
        if _beside(mark, found):
            mark["beside"] = 1
    return found


_PARTS = {
    "bars": ("x", "x2", "y", "y2"),
    "segments": ("x", "x2", "y", "y2"),
    "points": ("x", "y"),
}


def _as_points(mark: Spec) -> Spec:
    """Markers without a line are points, and a box in the coordinates of the data is a bar."""
    if mark["kind"] == "line" and "stroke" not in mark:
        rows = mark.get("marked", range(len(mark["x"])))
        picked = {name: [mark[name][row] for row in rows] for name in ("x", "y")}
        return {k: v for k, v in mark.items() if k != "marked"} | {"kind": "points"} | picked
    if mark["kind"] == "box" and "cx" not in mark and "cy" not in mark:
        (x, x2), (y, y2) = mark["x"], mark["y"]
        return mark | {"kind": "bars", "x": [x], "x2": [x2], "y": [y], "y2": [y2]}
    return mark


def _one_name(one: Spec, other: Spec) -> bool:
    """Single points may go by the label of the first; longer series each have their own."""
    labels = {each["label"] for each in (one, other) if "label" in each}
    short = other["kind"] == "bars" or len(other["x"]) == 1
    return len(labels) < 2 and short


def _beside(mark: Spec, marks: Sequence[Spec]) -> bool:
    if mark["kind"] == "band":
        shades = [each.get("stroke") for each in marks if each["kind"] == "line"]
        shades += [each.get("face") for each in marks if each["kind"] == "points"]
        return mark["fill"] in shades and mark["along"] == "x"
    if mark["kind"] != "segments":
        return False
    points = {
        (x, y)
        for each in marks
        if each["kind"] in ("points", "line")
        for x, y in zip(each["x"], each["y"], strict=True)
    }
    return all(
        any(_on(piece, point) for point in points)
        for piece in zip(mark["x"], mark["y"], mark["x2"], mark["y2"], strict=True)
    )


def _on(piece: Sequence[float], point: Sequence[float | None]) -> bool:
    """On an upright piece above its lower end, or on a level one right of its left end."""
    (x, y, x2, y2), (px, py) = piece, point
    if px is None or py is None:
        return False
    return (x == x2 == px and y <= py <= y2) or (y == y2 == py and x <= px <= x2)


def share_arrays(panels: Sequence[Spec]) -> list[list[Any]]:
    """Lists that several marks have, taken out; the marks keep their numbers instead."""
    lists: dict[str, list[Any]] = {}
    uses: dict[str, list[tuple[Spec, str]]] = {}
    for panel in panels:
        for mark in panel["marks"]:
            for key in ("x", "y", "at"):
                values = mark.get(key)
                if isinstance(values, list) and len(values) > _SHARED:
                    lists.setdefault(repr(values), values)
                    uses.setdefault(repr(values), []).append((mark, key))
    numbers = count()
    shared = []
    for name, of in uses.items():
        if len(of) > 1:
            number = next(numbers)
            shared.append(lists[name])
            for mark, key in of:
                mark[key] = number
    return shared
