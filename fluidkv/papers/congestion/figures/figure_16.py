"""Congestion, Figure 16: decode lengths 4 and 7 settle at the equilibrium, 4 and 8 do not."""

from typing import TYPE_CHECKING

from fluidkv.figures.figure import Data, Figure
from fluidkv.papers.congestion.figures import gcd_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_SETS, _INPUT, _ITERATIONS = ((4, 7), (4, 8)), 40, 400


def data() -> Data:
    """As `gcd_runs.runs`."""
    return gcd_runs.runs(_SETS, _INPUT, _ITERATIONS)


def draw(data: Data, canvas: "Canvas") -> None:
    canvas.suptitle(FIGURE.title, x=0.01, ha="left")
    gcd_runs.draw_runs(data, canvas, _SETS)


def caption(data: Data) -> str:
    return (
        "Requests admitted and evicted at each iteration, from an empty server, input length "
        f"{_INPUT}, equal shares. {gcd_runs.told(data, _SETS)} The paper does not print a "
        "capacity; masses scale with it, so none is needed here. The counts of growing modes are "
        "certified."
    )


FIGURE = Figure(
    id="congestion_figure_16",
    title="Lengths 4 and 7 damp the first burst; lengths 4 and 8 pulse and evict for good",
    source="Congestion, Figure 16",
    parameters={
        "input_length": _INPUT,
        "shares": "equal",
        "decode_lengths": [list(s) for s in _SETS],
        "capacity": "sum of V_s (x* = 1)",
        "start": "empty",
        "iterations": _ITERATIONS,
        "seed": None,
    },
    size=(9.0, 4.2),
    data=data,
    draw=draw,
    caption=caption,
)
