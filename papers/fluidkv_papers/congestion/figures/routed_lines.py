"""Lines of two nodes apart and of their pool, to be seen also where one lies on the other."""

from typing import Any

import numpy as np

from fluidkv.figures.figure import Axes

MARKERS: dict[str, dict[str, Any]] = {
    "apart": {"markersize": 8, "markerfacecolor": "none", "markeredgewidth": 1},
    "mixed": {"markersize": 3.5},
}
"""A ring and a point within it: both are seen where both are zero."""


def routed_line(ax: Axes, x: np.ndarray, y: np.ndarray, routing: str, **look: Any) -> None:
    """One line with the markers of its routing.

    Args:
        ax, x, y: as of `plot`.
        routing: "apart" or "mixed".
        look: color, linestyle, marker, label.
    """
    ax.plot(x, y, clip_on=False, **MARKERS[routing], **look)


def zero_said(label: str, values: np.ndarray) -> str:
    """The label, which says so of a line that lies on the axis."""
    return label if values.any() else f"{label}: 0 throughout"
