"""Congestion, Figure 19: routing under Poisson arrivals, by what arrives."""

import numpy as np

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE
from fluidkv.papers.congestion.claims.experiments.tables_4_5 import under_poisson
from fluidkv.papers.congestion.experiments.nodes import COPRIME, PARTIAL

_RATES = {
    "coprime": (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6),
    "partial": (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65),
}
_METRICS = {
    "evicted": "evicted in 1,000 iterations",
    "latency": "latency, iterations",
    "throughput": "completed an iteration",
}


def data() -> Data:
    """By mix: rates, and each metric of the two nodes ("first", "second") and of the pool."""
    found: dict[str, np.ndarray | float] = {}
    for name, routing in (("coprime", COPRIME), ("partial", PARTIAL)):
        found[f"{name}.rate"] = np.array(_RATES[name])
        for node, pool in zip(("first", "second", "mixed"), routing.pools, strict=True):
            seen = [under_poisson(routing, pool, rate) for rate in _RATES[name]]
            found[f"{name}.{node}.evicted"] = 1000 * np.array([t.evicted for t in seen])
            found[f"{name}.{node}.latency"] = np.array([t.latency for t in seen])
            found[f"{name}.{node}.throughput"] = np.array([t.throughput for t in seen])
    return found


def average(data: Data, name: str, metric: str) -> np.ndarray:
    """Of the two segregated nodes, as the paper's "segregated average"."""
    return (data[f"{name}.first.{metric}"] + data[f"{name}.second.{metric}"]) / 2


def draw(data: Data, canvas: Canvas) -> None:
    grid = canvas.subplots(2, 3)
    named = {"coprime": ("{6, 10}", "{9, 15}"), "partial": ("{20, 40}", "{25, 50}")}
    for row, (name, nodes) in zip(grid, named.items(), strict=True):
        rate = data[f"{name}.rate"]
        for ax, (metric, label) in zip(row, _METRICS.items(), strict=True):
            for node, text, style in zip(("first", "second"), nodes, ("--", ":"), strict=True):
                line = {"color": GREY, "linestyle": style, "linewidth": 1.1}
                ax.plot(rate, data[f"{name}.{node}.{metric}"], **line, label=text)
            ax.plot(rate, average(data, name, metric), color=ORANGE, label="segregated average")
            ax.plot(rate, data[f"{name}.mixed.{metric}"], color=BLUE, label="mixed")
            ax.set_ylabel(label)
            if metric != "throughput":
                ax.set_yscale("log")
        row[0].set_title(f"{name} mixing" if name == "coprime" else "gcd 5 left")
        row[2].legend(loc="upper left")
    for ax in grid[1]:
        ax.set_xlabel("arrival rate at each node, requests an iteration")


def caption(data: Data) -> str:
    fewer = {
        name: 1 - data[f"{name}.mixed.evicted"] / average(data, name, "evicted") for name in _RATES
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


FIGURE = Figure(
    id="congestion_figure_19",
    title="Mixing evicts less and delays less until the mixed node itself saturates",
    source="Congestion, Figure 19 and Tables 4 and 5",
    parameters={
        "input_length": 30,
        "capacities": {"coprime": 600, "partial": 1000},
        "decode_lengths": {"coprime": [[6, 10], [9, 15]], "partial": [[20, 40], [25, 50]]},
        "arrivals": "Poisson, equal rates of all classes",
        "rates": {name: list(rates) for name, rates in _RATES.items()},
        "runs": 8,
        "iterations": 4000,
        "start": "empty",
        "form": "masses",
        "seed": 45,
    },
    size=(11.0, 6.0),
    data=data,
    draw=draw,
    caption=caption,
)
