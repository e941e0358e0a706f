"""In which coordinates an artist stands."""

from typing import Any

from matplotlib.colors import to_hex

from fluidkv.figures.figure import Axes
from fluidkv.report.charts.thin import rounded

Spec = dict[str, Any]


def coordinates(ax: Axes, transform: Any) -> Spec:
    """{"cx": "axes"} and {"cy": "axes"} where x or y is a share of the axes; else of the data.

    Raises:
        NotImplementedError: other coordinates.
    """
    in_data = transform.contains_branch_seperately(ax.transData)
    if all(in_data):
        return {}
    in_axes = transform.contains_branch_seperately(ax.transAxes)
    if not all(of_data or of_axes for of_data, of_axes in zip(in_data, in_axes, strict=True)):
        raise NotImplementedError(f"coordinates of {transform!r}")
    return {f"c{axis}": "axes" for axis, there in zip("xy", in_data, strict=True) if not there}


def rounded_along(ax: Axes, placed: Spec, axis: str, values: Any) -> list[float | None]:
    """Values along an axis, as exact as it shows them; `placed` has its coordinates."""
    if placed.get(f"c{axis}"):
        return rounded(values, (0, 1), "linear")
    limits, scale = getattr(ax, f"get_{axis}lim")(), getattr(ax, f"get_{axis}scale")()
    return rounded(values, limits, scale)


def hexed(rgba: Any) -> tuple[str, float]:
    """ "#rrggbb" and opacity."""
    from matplotlib.colors import to_rgba

    colour = to_rgba(rgba)
    return to_hex(colour), round(float(colour[3]), 3)


def named(artist: Any) -> Spec:
    """Its label, where it is meant to be read."""
    from fluidkv.report.charts.words import plain

    label = str(artist.get_label() or "")
    return {} if not label or label.startswith("_") else {"label": " ".join(plain(label).split())}
