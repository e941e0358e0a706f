"""AxesImage and QuadMesh: cells of colour, with what each colour stands for."""

from typing import Any

import numpy as np

from fluidkv.figures.figure import Axes
from fluidkv.report.charts import colours
from fluidkv.report.charts.marks.placed import Spec, hexed
from fluidkv.report.charts.thin import rounded


def read_image(ax: Axes, image: Any) -> list[Spec]:
    """A picture whose values have colours, row by row from its lower edge."""
    left, right, bottom, top = image.get_extent()
    values = np.ma.masked_invalid(image.get_array())
    if image.origin == "upper":
        bottom, top, values = min(bottom, top), max(bottom, top), values[::-1]
    rows, columns = values.shape
    x, y = np.linspace(left, right, columns + 1), np.linspace(bottom, top, rows + 1)
    return [_grid(ax, image, values, x, y)]


def read_mesh(ax: Axes, mesh: Any) -> list[Spec]:
    """Rectangles between lines of a grid.

    Raises:
        NotImplementedError: a grid whose lines are not straight.
    """
    places = np.asarray(mesh.get_coordinates())
    x, y = places[0, :, 0], places[:, 0, 1]
    if not (np.allclose(places[:, :, 0], x) and np.allclose(places[:, :, 1].T, y)):
        raise NotImplementedError("a mesh that is not of rectangles")
    values = np.ma.masked_invalid(mesh.get_array()).reshape(len(y) - 1, len(x) - 1)
    return [_grid(ax, mesh, values, x, y)]


def _grid(ax: Axes, artist: Any, values: Any, x: Any, y: Any) -> Spec:
    """Edges, colours, the least and largest value of each colour, and the cells in runs.

    Runs are [colour, how often] in reading order, row after row; colour -1 is nothing.
    """
    shades = (np.asarray(artist.cmap(artist.norm(values))) * 255).round().astype(int)
    codes = (shades[..., 0] << 24) | (shades[..., 1] << 16) | (shades[..., 2] << 8) | shades[..., 3]
    codes = np.where(np.ma.getmaskarray(values) | (shades[..., 3] == 0), -1, codes)
    known = [int(code) for code in np.unique(codes) if code >= 0]
    cells = np.where(codes >= 0, np.searchsorted(known, codes) if known else -1, -1)
    low = [float(values[cells == place].min()) for place in range(len(known))]
    high = [float(values[cells == place].max()) for place in range(len(known))]
    flat = cells.ravel()
    starts = np.flatnonzero(np.diff(flat, prepend=flat[0] - 1))
    lengths = np.diff([*starts.tolist(), len(flat)])
    return {
        "kind": "grid",
        "x": rounded(x, ax.get_xlim(), ax.get_xscale()),
        "y": rounded(y, ax.get_ylim(), ax.get_yscale()),
        "colours": [_colour(code) for code in known],
        "low": rounded(low, (0, 1), "log"),
        "high": rounded(high, (0, 1), "log"),
        "runs": [int(n) for pair in zip(flat[starts], lengths, strict=True) for n in pair],
    }


def _colour(code: int) -> str:
    parts = [(code >> shift & 255) / 255 for shift in (24, 16, 8)]
    return colours.ground(hexed(parts)[0])
