"""Congestion, Figure 4: Poisson arrivals, below the worst-cycle rate, above it, above x*."""

import numpy as np

from fluidkv import fluid
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE, name_axes
from fluidkv_papers.congestion.claims.experiments import figure_4 as experiment
from fluidkv_papers.congestion.experiments.open_runs import poisson

_RATES = (0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.4, 1.5, 1.6, 1.8)
_RUNS, _PATH_RATE, _PATH = 16, 1.4, 600


def data() -> Data:
    """Means over the last window of each run, by rate; one path, iteration by iteration."""
    found = experiment.runs(_RATES, _RUNS)
    system = experiment.system()
    path = fluid.simulate_open(
        system,
        arrivals=poisson(system, _PATH_RATE, iterations=_PATH, count=1, seed=experiment.SEED),
        record=("evicted", "queue"),
    ).isel({"batch": 0, "class": 0})
    last = {name: values[:, :, -1] for name, values in found.items()}
    return {
        "rate": np.array(_RATES),
        "throughput": last["completed"].mean(axis=1),
        "run_rate": np.repeat(_RATES, _RUNS),
        "run_throughput": last["completed"].ravel(),
        "collapsed_share": (last["evicting"] > 0.5).mean(axis=1),
        "evicted": last["evicted"].mean(axis=1),
        "waiting": last["waiting"].mean(axis=1),
        "iteration": path.iteration.values.astype(np.float64),
        "path_evicted": path.evicted.values,
        "path_queue": path["queue"].values,
        "worst": float(experiment.worst_rate()),
        "best": float(experiment.best_rate()),
    }


def draw(data: Data, canvas: Canvas) -> None:
    first, second, third = canvas.subplots(1, 3)
    rate = data["rate"]

    _bounds(first, data)
    first.plot(rate, rate, color=GREY, linestyle="--", linewidth=1.0, label="all that arrives")
    first.plot(
        data["run_rate"],
        data["run_throughput"],
        color=BLUE,
        alpha=0.35,
        linestyle="",
        marker=".",
        markersize=4,
        label="one run",
    )
    first.plot(rate, data["throughput"], color=BLUE, label="mean")
    first.set(title="(a) completed an iteration", ylim=(0, 2.0))
    first.legend(loc="upper left")

    _bounds(second, data)
    second.plot(rate, data["evicted"], color=ORANGE, marker=".", label="evicted")
    second.set(title="(b) evicted an iteration; mean queue", ylim=(0, 4.9))
    waiting = second.twinx()
    waiting.plot(rate, data["waiting"], color=BLUE, marker=".", label="waiting")
    waiting.set_ylim(0, 1.3 * data["waiting"].max())
    _coloured(second, waiting)
    for ax in (first, second):
        ax.set_xlabel("arrival rate λ, requests an iteration")

    n = data["iteration"]
    third.plot(n, data["path_evicted"], color=ORANGE, linewidth=0.9)
    name_axes(third, "iteration n", title=f"(c) one path at λ = {_PATH_RATE:.2f}")
    third.set_ylim(0, 1.2 * data["path_evicted"].max())
    queue = third.twinx()
    queue.plot(n, data["path_queue"], color=BLUE)
    queue.set_ylim(0, 1.2 * data["path_queue"].max())
    _coloured(third, queue)


def caption(data: Data) -> str:
    rate, share = data["rate"], data["collapsed_share"]
    above = rate > data["worst"]
    smooth = rate[above & (share == 0)]
    gone = rate[share == 1]
    return (
        f"Masses, M = 2000, l0 = 10, l1 = 40; {_RUNS} runs a rate from an empty server, 8,000 "
        f"iterations, (a) and (b) over the last 1,000. Dotted: the worst-cycle rate "
        f"{data['worst']:.2f} and x* = {data['best']:.2f}. The paper has "
        "throughput leave the dashed line at the worst-cycle rate. Here no run had collapsed at λ "
        f"up to {smooth.max():g}, and every one had from {gone.min():g} on: near the worst-cycle "
        f"rate a smooth server lasts for very long. Collapsed, it completes "
        f"{data['throughput'][-1]:.3f} and evicts {data['evicted'][-1]:.2f} requests "
        "an iteration. Whole requests settle on other cycles, most of which complete a few per "
        "cent more (ledger: figure-4.whole-requests.collapsed-rate)."
    )


def _bounds(ax: Axes, data: Data) -> None:
    for name, text in (("worst", "worst cycle"), ("best", "x*")):
        x = data[name]
        ax.axvline(x, color=GREY, linestyle=":", linewidth=0.9)
        ax.text(x + 0.02, 0.97, text, transform=ax.get_xaxis_transform(), **_NOTE)
    ax.set_xlim(0, 1.9)


def _coloured(left: Axes, right: Axes) -> None:
    """Two axes, each in the colour of its line."""
    right.spines["right"].set_visible(True)
    left.set_ylabel("requests evicted an iteration", color=ORANGE)
    right.set_ylabel("requests waiting", color=BLUE)
    left.tick_params(axis="y", labelcolor=ORANGE)
    right.tick_params(axis="y", labelcolor=BLUE)


_NOTE = {"color": GREY, "fontsize": 8, "va": "top"}

FIGURE = Figure(
    id="congestion_figure_4",
    title="Below x* a server under Poisson arrivals can collapse; just above the worst cycle it "
    "takes long",
    source="Congestion, Figure 4 and section 6.1",
    parameters={
        "capacity": 2000,
        "input_length": 10,
        "decode_length": 40,
        "arrivals": "Poisson",
        "rates": list(_RATES),
        "runs": _RUNS,
        "iterations": 8000,
        "start": "empty",
        "form": "masses",
        "seed": 4,
    },
    size=(12.0, 3.9),
    data=data,
    draw=draw,
    caption=caption,
)
