"""A line over draws, with their range: its numbers, how it is drawn, and how captions tell it."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fluidkv.figures.figure import Axes, Data

Look = tuple[str, str, str, str]
"""Name, colour, line and marker."""


def ranged(key: str, points: Iterable[np.ndarray]) -> dict[str, np.ndarray]:
    """Mean, least and most of the draws of each point, as "KEY", "KEY_low" and "KEY_high".

    Examples:
        >>> from fluidkv_papers.bands import ranged
        >>> {name: values.tolist() for name, values in ranged("x", np.eye(2)).items()}
        {'x': [0.5, 0.5], 'x_low': [0.0, 0.0], 'x_high': [1.0, 1.0]}
    """
    draws = list(points)
    return {
        key: np.array([each.mean() for each in draws]),
        f"{key}_low": np.array([each.min() for each in draws]),
        f"{key}_high": np.array([each.max() for each in draws]),
    }


def draw_band(
    data: Data,
    ax: Axes,
    key: str,
    look: Look,
    *,
    scale: float = 1.0,
    alpha: float = 0.15,
    **line: Any,
) -> None:
    """`key` over "x" as it looks, with its range; `line` as for `Axes.plot`."""
    label, color, style, marker = look
    low, high = (scale * data[f"{key}_{end}"] for end in ("low", "high"))
    ax.fill_between(data["x"], low, high, color=color, alpha=alpha, linewidth=0)
    line = {"markersize": 4, **line, "color": color, "linestyle": style, "marker": marker}
    ax.plot(data["x"], scale * data[key], label=label, **line)


def plain_numbers(ax: Axes, axis: str = "y", *, decades: int = 2) -> None:
    """Numbers rather than powers on a logarithmic axis; also 2 and 5 on one of few decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    of = getattr(ax, f"{axis}axis")
    low, high = getattr(ax, f"get_{axis}lim")()
    subs = (1.0, 2.0, 5.0) if high / low < 10**decades else (1.0,)
    of.set_major_locator(LogLocator(10, subs))
    of.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    of.set_minor_formatter(NullFormatter())


def ratio(data: Data, measure: str, of: str, over: str) -> np.ndarray:
    """A measure of one line over that of another, by point: of means over the draws."""
    return data[f"{of}.{measure}"] / data[f"{over}.{measure}"]


def listed(values: Sequence[float] | np.ndarray, form: str = ".1f") -> str:
    """Numbers in a row, for captions.

    Examples:
        >>> from fluidkv_papers.bands import listed
        >>> listed([0.5, 2], ".0%")
        '50%, 200%'
    """
    return ", ".join(format(float(value), form) for value in values)
