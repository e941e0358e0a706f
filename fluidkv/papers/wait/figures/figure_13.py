"""WAIT, Figure 13: Nested WAIT on ten outputs, up to 550 prompts a second."""

from typing import TYPE_CHECKING

from fluidkv.figures.figure import Data, Figure, scalar
from fluidkv.papers.wait.figures import conversations, sweeps

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_RATES = (95, 110, 130)
_SECONDS, _WINDOW = 160.0, (80.0, 130.0)


def data(
    rates: tuple[int, ...] = _RATES,
    seconds: float = _SECONDS,
    window: tuple[float, float] = _WINDOW,
) -> Data:
    """As `conversations.data`."""
    return conversations.data(rates, seconds, window)


def draw(data: Data, canvas: "Canvas") -> None:
    sweeps.draw_sweep(data, canvas, FIGURE.title, "prompts/s")


def caption(data: Data) -> str:
    return (
        f"{conversations.told(data)} Against first come, first served with the running first: "
        f"{conversations.compared(data, 'nested_fixed')}. 550 prompts/s, the paper's heavy load, "
        f"are {550 / scalar(data, 'last'):.1f} times what this machine can serve with any memory; "
        "it is saturated from 130 on."
    )


FIGURE = Figure(
    id="wait_figure_13",
    title="Ten outputs near and above capacity: Nested WAIT serves less than FCFS, running first",
    source="WAIT, Figure 13 and section 6.2",
    parameters=conversations.parameters(_RATES, _SECONDS, _WINDOW),
    size=(10.5, 4.4),
    data=data,
    draw=draw,
    caption=caption,
)
