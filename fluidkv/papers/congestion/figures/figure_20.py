"""Congestion, Figure 20: the throughput that segregated nodes lose, and the mixed one."""

import numpy as np

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE, PALE, SMALL_NOTE, name_axes
from fluidkv.papers.congestion.experiments.nodes import COPRIME, PARTIAL, certified, saturated

_MIXES = ("coprime", "partial")


def data() -> Data:
    """Of each mix: x* and what is completed under an endless queue, node 1, node 2, pool."""
    found: dict[str, np.ndarray | float] = {}
    for name, routing in zip(_MIXES, (COPRIME, PARTIAL), strict=True):
        best = [float(certified(routing, pool).equilibrium.rate) for pool in routing.pools]
        found[f"{name}.best"] = np.array(best)
        found[f"{name}.seen"] = np.array([saturated(routing, p)[0] for p in routing.pools])
    return found


def draw(data: Data, canvas: Canvas) -> None:
    labels = {
        "coprime": ("{6, 10}", "{9, 15}", "mixed"),
        "partial": ("{20, 40}", "{25, 50}", "mixed"),
    }
    for ax, name in zip(canvas.subplots(1, 2), _MIXES, strict=True):
        best, seen = data[f"{name}.best"], data[f"{name}.seen"]
        at = np.arange(3)
        ax.bar(at, best, 0.62, color=PALE, edgecolor=GREY, linewidth=0.8, label="x*")
        colors = [ORANGE if s < 0.999 * b else BLUE for s, b in zip(seen, best, strict=True)]
        ax.bar(at, seen, 0.62, color=colors, alpha=0.85)
        for x, b, s in zip(at, best, seen, strict=True):
            text = f"{s:.3f} of {b:.3f}\n{s / b:.1%}"
            ax.annotate(text, (x, b), (0, 4), **_NOTE)
        ax.set_xticks(at, labels[name])
        name_axes(
            ax,
            y="completed an iteration",
            title="gcd 1 when mixed" if name == "coprime" else "gcd 5 when mixed",
        )
        ax.set_ylim(0, 1.25 * best.max())
        ax.legend(loc="upper right", bbox_to_anchor=(1.0, 1.02))


def caption(data: Data) -> str:
    gains = []
    for name in _MIXES:
        seen = data[f"{name}.seen"]
        gains.append(f"{seen[2] / seen[:2].mean() - 1:+.1%}")
    return (
        "Requests completed an iteration under an endless queue, from an empty server, against "
        "x*. Orange where something is evicted for good. Mixed, the coprime node completes all of "
        "its x*; the other still loses. Against the average of the two nodes, mixing changes the "
        f"count of requests by {gains[0]} and {gains[1]}: x* itself is lower for the mix than for "
        "that average, because a node of short requests serves more of them. The paper prints "
        "+5.3 % and, from its averages, +12.9 %."
    )


_NOTE = SMALL_NOTE | {"ha": "center"}

FIGURE = Figure(
    id="congestion_figure_20",
    title="Coprime mixing completes all of x*; with a divisor left, some is still lost",
    source="Congestion, Figure 20",
    parameters={
        "input_length": 30,
        "capacities": {"coprime": 600, "partial": 1000},
        "decode_lengths": {"coprime": [[6, 10], [9, 15]], "partial": [[20, 40], [25, 50]]},
        "arrivals": "endless queue",
        "start": "empty",
        "iterations": 5400,
        "seed": None,
    },
    size=(9.0, 3.8),
    data=data,
    draw=draw,
    caption=caption,
)
