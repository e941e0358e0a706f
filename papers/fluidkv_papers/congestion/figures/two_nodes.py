"""Figures 19 and 20: two nodes of two lengths each, apart and mixed."""

import numpy as np

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE, PALE, SMALL_NOTE, name_axes
from fluidkv_papers.congestion.claims.experiments.tables_4_5 import under_poisson
from fluidkv_papers.congestion.experiments.nodes import COPRIME, PARTIAL, certified, saturated

_RATES = {
    "coprime": (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6),
    "partial": (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65),
}
_MIXES = {"coprime": COPRIME, "partial": PARTIAL}
_NODES = {"coprime": ("{6, 10}", "{9, 15}"), "partial": ("{20, 40}", "{25, 50}")}
_METRICS = {
    "evicted": "evicted in 1,000 iterations",
    "latency": "latency, iterations",
    "throughput": "completed an iteration",
}


def _arrivals_data() -> Data:
    """By mix: rates, and each metric of the two nodes ("first", "second") and of the pool."""
    found: dict[str, np.ndarray | float] = {}
    for name, routing in _MIXES.items():
        found[f"{name}.rate"] = np.array(_RATES[name])
        for node, pool in zip(("first", "second", "mixed"), routing.pools, strict=True):
            seen = [under_poisson(routing, pool, rate) for rate in _RATES[name]]
            found[f"{name}.{node}.evicted"] = 1000 * np.array([t.evicted for t in seen])
            found[f"{name}.{node}.latency"] = np.array([t.latency for t in seen])
            found[f"{name}.{node}.throughput"] = np.array([t.throughput for t in seen])
    return found


def _average(data: Data, name: str, metric: str) -> np.ndarray:
    """Of the two segregated nodes, as the paper's "segregated average"."""
    return (data[f"{name}.first.{metric}"] + data[f"{name}.second.{metric}"]) / 2


def _arrivals_draw(data: Data, canvas: Canvas) -> None:
    grid = canvas.subplots(2, 3)
    for row, (name, nodes) in zip(grid, _NODES.items(), strict=True):
        rate = data[f"{name}.rate"]
        for ax, (metric, label) in zip(row, _METRICS.items(), strict=True):
            for node, text, style in zip(("first", "second"), nodes, ("--", ":"), strict=True):
                line = {"color": GREY, "linestyle": style, "linewidth": 1.1}
                ax.plot(rate, data[f"{name}.{node}.{metric}"], **line, label=text)
            ax.plot(rate, _average(data, name, metric), color=ORANGE, label="segregated average")
            ax.plot(rate, data[f"{name}.mixed.{metric}"], color=BLUE, label="mixed")
            ax.set_ylabel(label)
            if metric != "throughput":
                ax.set_yscale("log")
        row[0].set_title(f"{name} mixing" if name == "coprime" else "gcd 5 left")
        row[2].legend(loc="upper left")
    for ax in grid[1]:
        ax.set_xlabel("arrival rate at each node, requests an iteration")


def _arrivals_caption(data: Data) -> str:
    fewer = {
        name: 1 - data[f"{name}.mixed.evicted"] / _average(data, name, "evicted") for name in _RATES
    }
    rate = data["partial.rate"]
    worse = rate[fewer["partial"] < 0]
    turned = f" and more at {worse.min():g} and above" if worse.size else ""
    return (
        "Every class brings the same number of requests, so each node gets the same rate under "
        "either routing; Poisson arrivals, with a queue, masses, 8 runs of 4,000 iterations from "
        "an empty server. Latency is by Little's law; past saturation it grows with the horizon. "
        "The paper prints neither rates nor horizon. Coprime mixing evicts less at every rate, "
        f"by {fewer['coprime'].min():.0%} to {fewer['coprime'].max():.0%}, but not nothing: a "
        "chance excess overshoots on a stable node too. With a divisor of 5 left, mixing evicts "
        f"less below saturation{turned}. Much of the gap is load: at one rate the node of longer "
        "requests saturates first."
    )


def _endless_data() -> Data:
    """Of each mix: x* and what is completed under an endless queue, node 1, node 2, pool."""
    found: dict[str, np.ndarray | float] = {}
    for name, routing in _MIXES.items():
        best = [float(certified(routing, pool).equilibrium.rate) for pool in routing.pools]
        found[f"{name}.best"] = np.array(best)
        found[f"{name}.seen"] = np.array([saturated(routing, p)[0] for p in routing.pools])
    return found


def _endless_draw(data: Data, canvas: Canvas) -> None:
    for ax, name in zip(canvas.subplots(1, 2), _MIXES, strict=True):
        best, seen = data[f"{name}.best"], data[f"{name}.seen"]
        at = np.arange(3)
        ax.bar(at, best, 0.62, color=PALE, edgecolor=GREY, linewidth=0.8, label="x*")
        colors = [ORANGE if s < 0.999 * b else BLUE for s, b in zip(seen, best, strict=True)]
        ax.bar(at, seen, 0.62, color=colors, alpha=0.85)
        for x, b, s in zip(at, best, seen, strict=True):
            text = f"{s:.3f} of {b:.3f}\n{s / b:.1%}"
            ax.annotate(text, (x, b), (0, 4), **SMALL_NOTE, ha="center")
        ax.set_xticks(at, (*_NODES[name], "mixed"))
        name_axes(
            ax,
            y="completed an iteration",
            title="gcd 1 when mixed" if name == "coprime" else "gcd 5 when mixed",
        )
        ax.set_ylim(0, 1.25 * best.max())
        ax.legend(loc="upper right", bbox_to_anchor=(1.0, 1.02))


def _endless_caption(data: Data) -> str:
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


_PARAMETERS = {
    "input_length": 30,
    "capacities": {"coprime": 600, "partial": 1000},
    "decode_lengths": {"coprime": [[6, 10], [9, 15]], "partial": [[20, 40], [25, 50]]},
    "start": "empty",
}
FIGURES = (
    Figure(
        id="congestion_figure_19",
        title="Mixing evicts less and delays less until the mixed node itself saturates",
        source="Congestion, Figure 19 and Tables 4 and 5",
        parameters={
            **_PARAMETERS,
            "arrivals": "Poisson, equal rates of all classes",
            "rates": {name: list(rates) for name, rates in _RATES.items()},
            "runs": 8,
            "iterations": 4000,
            "form": "masses",
            "seed": 45,
        },
        size=(11.0, 6.0),
        data=_arrivals_data,
        draw=_arrivals_draw,
        caption=_arrivals_caption,
    ),
    Figure(
        id="congestion_figure_20",
        title="Coprime mixing completes all of x*; with a divisor left, some is still lost",
        source="Congestion, Figure 20",
        parameters={**_PARAMETERS, "arrivals": "endless queue", "iterations": 5400, "seed": None},
        size=(9.0, 3.8),
        data=_endless_data,
        draw=_endless_draw,
        caption=_endless_caption,
    ),
)
