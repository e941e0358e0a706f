"""Congestion, Figure 33: coprime mixing and rate limits, by burst factor."""

from typing import TYPE_CHECKING

from fluidkv.figures.figure import Data, Figure
from fluidkv.papers.congestion.figures import burst_sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def data() -> Data:
    """As `burst_sweep.sweep`."""
    from fluidkv.papers.congestion.experiments.nodes import COPRIME

    return burst_sweep.sweep(COPRIME)


def draw(data: Data, canvas: "Canvas") -> None:
    canvas.suptitle(FIGURE.title, x=0.01, ha="left")
    burst_sweep.draw_sweep(data, canvas)


def caption(data: Data) -> str:
    return (
        "Lengths {6, 10} and {9, 15} on two nodes or mixed, M = 600, l0 = 30, with a queue. "
        "Poisson arrivals, 1 request an iteration at each node in the mean, more by the "
        "factor in the first 40 of 200 iterations and less in between. Means of 8 runs of 4,000 "
        f"iterations. The paper prints none of these. {burst_sweep.told(data)}"
    )


FIGURE = Figure(
    id="congestion_figure_33",
    title="Under bursts coprime mixing evicts less, and the cap x* lets none be evicted",
    source="Congestion, Figure 33",
    parameters={
        "capacity": 600,
        "input_length": 30,
        "decode_lengths": [[6, 10], [9, 15]],
        "arrivals": "Poisson with periodic bursts, mean kept",
        "rate": 1.0,
        "period": 200,
        "window": 40,
        "factors": list(burst_sweep.FACTORS),
        "runs": 8,
        "iterations": 4000,
        "start": "empty",
        "form": "masses",
        "seed": 33,
    },
    size=(9.0, 3.9),
    data=data,
    draw=draw,
    caption=caption,
)
