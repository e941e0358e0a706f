"""Congestion, Figure 32: mixing and rate limits on Vidur's machine, by burst factor."""

from typing import TYPE_CHECKING

from fluidkv.figures.figure import Data, Figure
from fluidkv.papers.congestion.experiments.printed_tables import TABLE_7
from fluidkv.papers.congestion.figures import vidur_burst_sweep as vidur_bursts

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def data() -> Data:
    """As `vidur_bursts.sweep`."""
    return vidur_bursts.sweep(TABLE_7)


def draw(data: Data, canvas: "Canvas") -> None:
    canvas.suptitle(FIGURE.title, x=0.01, ha="left")
    vidur_bursts.draw_sweep(data, canvas)


def caption(data: Data) -> str:
    return f"{vidur_bursts.open_settings(TABLE_7)} {vidur_bursts.told(data)}"


FIGURE = Figure(
    id="congestion_figure_32",
    title="With a divisor of 25 the pool still evicts under bursts; the cap at x* all but ends it",
    source="Congestion, Figure 32",
    parameters=vidur_bursts.parameters(TABLE_7),
    size=(9.0, 3.9),
    data=data,
    draw=draw,
    caption=caption,
)
