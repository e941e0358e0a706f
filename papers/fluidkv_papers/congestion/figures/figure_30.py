"""Congestion, Figure 30: how much mixing saves, by the length of a burst."""

import numpy as np

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE, name_axes
from fluidkv_papers.congestion.claims.experiments import bursts
from fluidkv_papers.congestion.experiments.nodes import COPRIME


def data() -> Data:
    """By window: evictions of a node in a run, apart and mixed."""
    apart, mixed = [], []
    for window in bursts.WINDOWS:
        burst = {
            "factor": bursts.WINDOW_FACTOR,
            "window": window,
            "period": bursts.WINDOWS_A_PERIOD * window,
        }
        apart.append(bursts.segregated_evictions(COPRIME, **burst))
        mixed.append(bursts.mixed_evictions(COPRIME, **burst))
    return {
        "window": np.array(bursts.WINDOWS, dtype=np.float64),
        "apart": np.array(apart),
        "mixed": np.array(mixed),
    }


def draw(data: Data, canvas: Canvas) -> None:
    left, right = canvas.subplots(1, 2)
    window = data["window"]
    for name, color, text in (("apart", ORANGE, "segregated average"), ("mixed", BLUE, "mixed")):
        left.plot(window, data[name], color=color, marker=".", label=text)
    name_axes(left, y="requests evicted a node in 4,000 iterations", log="y")
    left.legend(loc="upper left")
    right.plot(window, data["mixed"] / data["apart"], color=BLUE, marker=".")
    right.set(ylabel="mixed / segregated", ylim=(0, 1))
    for ax in (left, right):
        ax.axvspan(6, 15, color=GREY, alpha=0.12, linewidth=0)
        name_axes(ax, "length of a burst, iterations", log="x")
    right.annotate("decode lengths", (9.5, 0.97), ha="center", va="top", color=GREY, fontsize=8)


def caption(data: Data) -> str:
    ratio = data["mixed"] / data["apart"]
    window = data["window"]
    worst = int(ratio.argmax())
    return (
        "Lengths {6, 10} and {9, 15} on two nodes or mixed, M = 600, l0 = 30, with a queue. "
        "Poisson arrivals, 1 request an iteration at each node in the mean, three times that in "
        "the first fifth of each period; 8 runs of 4,000 iterations. The paper prints none of "
        f"these. Mixing saves least at bursts of {window[worst]:g} iterations, where it evicts "
        f"{ratio[worst]:.0%} of the segregated average, and nearly all at {window[-1]:g}, "
        f"{ratio[-1]:.1%}. Bursts shorter than a request's stay average out and are none to the "
        "server."
    )


FIGURE = Figure(
    id="congestion_figure_30",
    title="Mixing saves least in bursts as long as a request, and nearly all in longer bursts",
    source="Congestion, Figure 30 and Appendix D.5",
    parameters={
        "capacity": 600,
        "input_length": 30,
        "decode_lengths": [[6, 10], [9, 15]],
        "arrivals": "Poisson, mean rate 1 a node, 3 times that in bursts",
        "burst_share": 0.2,
        "runs": 8,
        "iterations": 4000,
        "start": "empty",
        "form": "masses",
        "seed": 33,
    },
    size=(9.0, 3.8),
    data=data,
    draw=draw,
    caption=caption,
)
