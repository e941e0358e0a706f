"""Congestion, Figure 21: lengths 20, 40 and 25, 50 pulse apart, and together too."""

from typing import TYPE_CHECKING

from fluidkv.figures.figure import Data, Figure
from fluidkv.papers.congestion.figures import gcd_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_SETS, _INPUT, _ITERATIONS = (((20, 40), (25, 50), (20, 25, 40, 50)), 30, 800)


def data() -> Data:
    """As `gcd_runs.runs`."""
    return gcd_runs.runs(_SETS, _INPUT, _ITERATIONS)


def draw(data: Data, canvas: "Canvas") -> None:
    canvas.suptitle(FIGURE.title, x=0.01, ha="left")
    gcd_runs.draw_runs(data, canvas, _SETS)


def caption(data: Data) -> str:
    return (
        "Requests admitted and evicted at each iteration, from an empty server with an endless "
        f"queue, input length {_INPUT}, equal shares. {gcd_runs.told(data, _SETS)} The paper's "
        "M = 1000 scales all masses alike. The counts of growing modes are certified."
    )


FIGURE = Figure(
    id="congestion_figure_21",
    title="With a divisor of 5 left, the mixed node still pulses and evicts",
    source="Congestion, Figure 21",
    parameters={
        "input_length": _INPUT,
        "shares": "equal",
        "decode_lengths": [list(s) for s in _SETS],
        "capacity": "sum of V_s (x* = 1)",
        "start": "empty",
        "arrivals": "endless queue",
        "iterations": _ITERATIONS,
        "seed": None,
    },
    size=(11.0, 4.2),
    data=data,
    draw=draw,
    caption=caption,
)
