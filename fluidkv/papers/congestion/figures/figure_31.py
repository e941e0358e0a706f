"""Congestion, Figure 31: mixing and rate limits on Vidur's machine, by burst factor."""

from typing import TYPE_CHECKING

from fluidkv.figures.figure import Data, Figure
from fluidkv.papers.congestion.experiments.printed_tables import TABLE_6
from fluidkv.papers.congestion.figures import vidur_burst_sweep as vidur_bursts

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def data() -> Data:
    """As `vidur_bursts.sweep`."""
    return vidur_bursts.sweep(TABLE_6)


def draw(data: Data, canvas: "Canvas") -> None:
    canvas.suptitle(FIGURE.title, x=0.01, ha="left")
    vidur_bursts.draw_sweep(data, canvas)


def caption(data: Data) -> str:
    return f"{vidur_bursts.open_settings(TABLE_6)} {vidur_bursts.told(data)}"


FIGURE = Figure(
    id="congestion_figure_31",
    title="Under bursts the coprime pool evicts next to nothing; capped at x*, nobody does",
    source="Congestion, Figure 31",
    parameters=vidur_bursts.parameters(TABLE_6),
    size=(9.0, 3.9),
    data=data,
    draw=draw,
    caption=caption,
)
