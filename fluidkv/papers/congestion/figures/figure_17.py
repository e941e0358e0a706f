"""Congestion, Figure 17: of three sets of three decode lengths, the one with a divisor pulses."""

from typing import TYPE_CHECKING

from fluidkv.figures.figure import Data, Figure
from fluidkv.papers.congestion.figures import gcd_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_SETS, _INPUT, _ITERATIONS = ((2, 7, 12), (2, 9, 12), (2, 8, 12)), 30, 600


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
    id="congestion_figure_17",
    title="Three lengths without a common divisor settle at the equilibrium; with one they pulse",
    source="Congestion, Figure 17",
    parameters={
        "input_length": _INPUT,
        "shares": "equal",
        "decode_lengths": [list(s) for s in _SETS],
        "capacity": "sum of V_s (x* = 1)",
        "start": "empty",
        "iterations": _ITERATIONS,
        "seed": None,
    },
    size=(10.0, 4.2),
    data=data,
    draw=draw,
    caption=caption,
)
