"""WAIT, Figure 16: the memory bound over the number of segments, a light load, two deltas."""

from fractions import Fraction
from typing import TYPE_CHECKING

from fluidkv.figures.figure import Data, Figure
from fluidkv.figures.wait import _segments
from fluidkv.figures.wait._segments import Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_PANELS = (Panel(30, 1, Fraction(1, 10)), Panel(30, 1, Fraction(1, 1000)))


def data(counts: tuple[int, ...] = _segments.COUNTS) -> Data:
    """As `_segments.data`."""
    return _segments.data(_PANELS, counts)


def draw(data: Data, canvas: "Canvas") -> None:
    _segments.draw(data, canvas, FIGURE.title, _PANELS)


def caption(data: Data) -> str:
    return f"{_segments.setting(data)} {_segments.told(data, _PANELS)}"


FIGURE = Figure(
    id="wait_figure_16",
    title="At 30 prompts/s the memory bound is least at 3 segments",
    source="WAIT, Figure 16 and section 7.2 (equation 17)",
    parameters=_segments.parameters(_PANELS),
    size=(9.5, 4.0),
    data=data,
    draw=draw,
    caption=caption,
)
