"""Numbers as a screen can show them: rounded, and long series cut to what its columns hold."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

COLUMNS = 1000
"""In each the first, last, least and largest of a series stay: its picture is the same."""
_STEPS = 20_000  # of an axis: what is rounded away is a twentieth of a pixel
_DIGITS = 4  # at least


def rounded(values: Any, limits: tuple[float, float], scale: str) -> list[float | None]:
    """Plain numbers with as many digits as the axis can show, four at least; None for no number."""
    found = np.asarray(values, np.float64)
    width = abs(limits[1] - limits[0])
    if scale != "linear" or not width:
        return [_digits(value, _DIGITS + 1) for value in found.tolist()]
    places = math.ceil(-math.log10(width / _STEPS))
    return [_places(value, places) for value in found.tolist()]


def envelope(x: Values, *ys: Values, columns: int = COLUMNS) -> NDArray[np.intp]:
    """Rows of a series to keep: all of a short one, of a long one the extremes in each column.

    Args:
        x: with one direction; else every row stays.
        ys: what is drawn over it.
        columns: of equal width, over the whole of x.
    """
    rows = np.arange(len(x))
    if len(x) <= 4 * columns or not np.isfinite(x).all() or not _one_way(x):
        return rows
    span = x[-1] - x[0]
    column = np.minimum(((x - x[0]) / span * columns).astype(int), columns - 1)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    kept = set(starts.tolist()) | {len(x) - 1} | {start - 1 for start in starts[1:].tolist()}
    for first, end in zip(starts, [*starts[1:], len(x)], strict=True):
        for y in ys:
            inside = y[first:end]
            holes = ~np.isfinite(inside)
            if holes.any():
                kept.add(int(first + holes.argmax()))
            if not holes.all():
                kept |= {int(first + np.nanargmin(inside)), int(first + np.nanargmax(inside))}
    return np.array(sorted(kept))


def _one_way(x: Values) -> bool:
    steps = np.diff(x)
    return bool(x[-1] != x[0] and ((steps >= 0).all() or (steps <= 0).all()))


def _digits(value: float, digits: int) -> float | None:
    return _short(float(f"{value:.{digits}g}")) if math.isfinite(value) else None


def _places(value: float, places: int) -> float | None:
    """To a place behind the point, but never to fewer than four digits."""
    if not math.isfinite(value):
        return None
    own = _DIGITS - 1 - math.floor(math.log10(abs(value))) if value else 0
    return _short(round(value, max(places, own)))


def _short(value: float) -> float:
    """Whole numbers are written without a point."""
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def cut(series: Sequence[Any], rows: NDArray[np.intp]) -> list[Any]:
    """The rows of each."""
    return [np.asarray(each)[rows] for each in series]
