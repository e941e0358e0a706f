"""A figure drawn once, without a file: what the charts are read from."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fluidkv.figures.figure import Data, Figure
from fluidkv.figures.style import RC

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@contextmanager
def drawn(figure: Figure, data: Data) -> "Iterator[Canvas]":
    """The canvas with its layout done and its ticks placed, as in the PNG.

    It is read under the same settings: how many ticks an axis has depends on the size of type.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    with mpl.rc_context(RC):
        canvas = Canvas(figsize=figure.size, layout="constrained")
        FigureCanvasAgg(canvas)
        canvas.suptitle(figure.title, x=0.01, ha="left")
        figure.draw(data, canvas)
        canvas.draw_without_rendering()
        yield canvas
