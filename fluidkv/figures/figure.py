"""What a figure is made of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
else:
    Axes = Canvas = object  # Matplotlib is loaded when a figure is drawn, not when it is listed

Data = Mapping[str, Any]
"""Named one-dimensional arrays and scalars: all that is drawn, and what is compared in tests."""


class MissingInput(Exception):  # noqa: N818 (a circumstance, not a fault)
    """An input that a figure needs is not there; the message is the reason that users see."""


@dataclass(frozen=True)
class Figure:
    """One figure: its numbers, how they are drawn, and what is written beside it.

    Args:
        id: also the name of its files.
        title: the finding, one line.
        source: where the figure comes from.
        parameters: what the data depends on, plain JSON values.
        size: width and height, inches.
        data: computes the numbers; raises MissingInput where it cannot.
        draw: draws them on a canvas of that size, which has the title and nothing else.
        caption: says what is seen, with values taken from the data.
    """

    id: str
    title: str
    source: str
    parameters: Mapping[str, object]
    size: tuple[float, float]
    data: Callable[[], Data]
    draw: Callable[[Data, Canvas], None]
    caption: Callable[[Data], str]
