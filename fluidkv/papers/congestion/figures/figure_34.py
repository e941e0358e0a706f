"""Congestion, Figure 34: mixing to a divisor of 5, and rate limits, by burst factor."""

from typing import TYPE_CHECKING

from fluidkv.figures.figure import Data, Figure
from fluidkv.papers.congestion.figures import burst_sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def data() -> Data:
    """As `burst_sweep.sweep`."""
    from fluidkv.papers.congestion.experiments.nodes import PARTIAL

    return burst_sweep.sweep(PARTIAL)


def draw(data: Data, canvas: "Canvas") -> None:
    canvas.suptitle(FIGURE.title, x=0.01, ha="left")
    burst_sweep.draw_sweep(data, canvas)


def caption(data: Data) -> str:
    return (
        "Lengths {20, 40} and {25, 50} on two nodes or mixed, M = 1000, l0 = 30, with a queue. "
        "Poisson arrivals, 0.35 requests an iteration at each node in the mean, more by the "
        "factor in the first 40 of 200 iterations and less in between. Means of 8 runs of 4,000 "
        f"iterations. The paper prints none of these. {burst_sweep.told(data)}"
    )


FIGURE = Figure(
    id="congestion_figure_34",
    title="Under bursts partial mixing evicts somewhat less, and the cap x* lets none be evicted",
    source="Congestion, Figure 34",
    parameters={
        "capacity": 1000,
        "input_length": 30,
        "decode_lengths": [[20, 40], [25, 50]],
        "arrivals": "Poisson with periodic bursts, mean kept",
        "rate": 0.35,
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
