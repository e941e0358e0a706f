"""WAIT, Figure 12: Nested WAIT on ten outputs, 55 prompts a second and around."""

from typing import TYPE_CHECKING

from fluidkv.figures.figure import Data, Figure
from fluidkv.papers.wait.figures import conversations, sweeps

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_RATES = (40, 55, 80)
_SECONDS, _WINDOW = 240.0, (110.0, 180.0)


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
        f"fixed thresholds, {conversations.compared(data, 'nested_fixed')}; the least thresholds "
        f"for each rate, {conversations.compared(data, 'nested')}. Differences in throughput "
        "are of what was in the system at the ends of the window. The paper's Figure 12, at 55 "
        "prompts/s, has Nested WAIT ahead in both."
    )


FIGURE = Figure(
    id="wait_figure_12",
    title="Ten outputs, 40 to 80 prompts/s: all serve what comes, Nested WAIT later",
    source="WAIT, Figure 12 and section 6.2",
    parameters=conversations.parameters(_RATES, _SECONDS, _WINDOW),
    size=(10.5, 4.4),
    data=data,
    draw=draw,
    caption=caption,
)
