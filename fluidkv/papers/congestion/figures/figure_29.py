"""Congestion, Figure 29: throughput and evictions over the cap on admission."""

import numpy as np

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE, name_axes
from fluidkv.papers.congestion.claims.experiments import table_8

_CAPS, _RUNS = tuple(np.round(np.arange(0.4, 5.01, 0.1), 3).tolist()), 8


def data() -> Data:
    """Means over the runs, at each cap and at x*."""
    x = float(table_8.best_rate())
    caps = tuple(sorted((*_CAPS, x)))
    found = table_8.sweep(caps, _RUNS)
    return {
        "cap": np.array(caps),
        "completed": found["completed"].mean(axis=1),
        "evicted": found["evicted"].mean(axis=1),
        "best": x,
    }


def draw(data: Data, canvas: Canvas) -> None:
    ax = canvas.subplots()
    cap, x = data["cap"], data["best"]
    ax.axvline(x, color=GREY, linestyle=":", linewidth=0.9)
    ax.annotate("x*", (x, 1.9), (4, -10), textcoords="offset points", color=GREY)
    for name, color, text in (
        ("completed", BLUE, "completed an iteration"),
        ("evicted", ORANGE, "evicted an iteration"),
    ):
        ax.plot(cap, data[name], color=color, label=text)
    name_axes(ax, "cap on admission, requests an iteration", "requests an iteration")
    ax.set(xlim=(cap[0], cap[-1]), ylim=(0, 1.9))
    ax.legend(loc="upper right", ncols=2)


def caption(data: Data) -> str:
    done, cap = data["completed"], data["cap"]
    return (
        "The setting of Table 8 and Figure 28, the same arrivals at every cap; means of "
        f"{_RUNS} runs of 4,000 iterations. Throughput peaks at a cap of "
        f"{cap[int(done.argmax())]:.2f}, which is x*, with {done.max():.3f} completed an iteration "
        f"after the first 20; at a cap of {cap[-1]:g}, which hardly binds, it is {done[-1]:.3f} "
        f"with {data['evicted'][-1]:.3f} evicted. Below x* nothing is evicted and capacity "
        "idles."
    )


FIGURE = Figure(
    id="congestion_figure_29",
    title="Throughput peaks where admission is capped at x*, and evictions start there",
    source="Congestion, Figure 29",
    parameters={
        "capacity": 1000,
        "input_length": 20,
        "decode_length": 20,
        "arrivals": "Poisson, rate 5, no queue",
        "runs": _RUNS,
        "iterations": 4000,
        "start": "empty",
        "form": "masses",
        "seed": 8,
    },
    size=(7.2, 3.8),
    data=data,
    draw=draw,
    caption=caption,
)
