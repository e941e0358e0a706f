"""Congestion, Figure 18: lengths 6, 10 and 9, 15 pulse apart and settle together."""

from typing import TYPE_CHECKING

from fluidkv.figures.figure import Data, Figure
from fluidkv.papers.congestion.figures import gcd_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_SETS, _INPUT, _ITERATIONS = (((6, 10), (9, 15), (6, 9, 10, 15)), 30, 720)


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
        "M = 600 scales all masses alike. The counts of growing modes are certified."
    )


FIGURE = Figure(
    id="congestion_figure_18",
    title="Two nodes that pulse apart settle when their lengths are mixed",
    source="Congestion, Figure 18",
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
