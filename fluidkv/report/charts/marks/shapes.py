"""Outlines as the `d` of an SVG path; y points up, as in Matplotlib."""

from typing import Any

import numpy as np
from matplotlib.path import Path

_LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}


def outline(path: Any) -> str:
    """The path in its own coordinates, three digits behind the point."""
    parts = []
    for points, code in path.iter_segments(simplify=False, curves=True):
        if code == Path.CLOSEPOLY:
            parts.append("Z")
            continue
        numbers = ",".join(f"{round(float(p), 3):g}" for p in np.asarray(points).ravel())
        parts.append(_LETTERS[code] + numbers)
    return "".join(parts)


def marker_outline(marker: Any) -> str:
    """Of a marker by Matplotlib's name, one point wide where it has that size; "" for none."""
    from matplotlib.markers import MarkerStyle

    if marker in (None, "", " ", "None", "none"):
        return ""
    style = MarkerStyle(marker)
    return outline(style.get_path().transformed(style.get_transform()))
