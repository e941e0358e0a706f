"""Figures 28 and 29: admission capped at x*, in the setting of Table 8."""

import numpy as np

from fluidkv import fluid
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE, name_axes
from fluidkv_papers.congestion.claims.experiments import table_8
from fluidkv_papers.congestion.experiments.open_runs import poisson

_ITERATIONS = 200
_CAPS, _RUNS = tuple(np.round(np.arange(0.4, 5.01, 0.1), 3).tolist()), 8


def _memory_data() -> Data:
    """Memory after execution and before eviction, and evictions, of both policies."""
    system, x = table_8.system(), float(table_8.best_rate())
    found = fluid.simulate_open(
        system,
        arrivals=poisson(system, table_8.RATE, iterations=_ITERATIONS, count=1, seed=table_8.SEED),
        cap=[np.inf, x],
        blocked="lost",
        record=("executed_memory", "evicted"),
    ).isel({"class": 0})
    data: dict[str, np.ndarray | float] = {
        "iteration": np.arange(1.0, _ITERATIONS + 1),
        "capacity": float(table_8.CAPACITY),
        "best": x,
    }
    for b, name in enumerate(("greedy", "limited")):
        data[f"{name}.memory"] = found.executed_memory.values[b]
        data[f"{name}.evicted"] = found.evicted.values[b]
    return data


def _memory_draw(data: Data, canvas: Canvas) -> None:
    grid = canvas.subplots(2, 2, sharex=True, sharey="row", height_ratios=[1.6, 1])
    n = data["iteration"]
    shown = (("greedy", "greedy", ORANGE), ("limited", "at most x* an iteration", BLUE))
    for (top, bottom), (name, text, color) in zip(grid.T, shown, strict=True):
        top.axhline(data["capacity"], color=GREY, linewidth=0.8)
        top.plot(n, data[f"{name}.memory"], color=color, linewidth=1.1)
        top.set_title(text)
        bottom.bar(n, data[f"{name}.evicted"], 1.0, color=color)
        bottom.set(xlabel="iteration n", xlim=(0, _ITERATIONS))
    note = {"textcoords": "offset points", "color": GREY, "fontsize": 8, "ha": "right"}
    grid[0, 1].annotate("capacity", (_ITERATIONS, data["capacity"]), (0, 4), **note)
    grid[0, 0].set(
        ylim=(0, 1.12 * data["greedy.memory"].max()), ylabel="tokens needed\nbefore eviction"
    )
    grid[1, 0].set_ylabel("requests evicted")


def _memory_caption(data: Data) -> str:
    late = slice(100, None)
    evicting = (data["greedy.evicted"][late] > 0).mean()
    low = data["limited.memory"][late].min() / data["capacity"]
    return (
        "M = 1000, l0 = 20, l1 = 20, masses, the same Poisson arrivals of 5 requests an iteration "
        "for both, from an empty server; what is not admitted at once is lost, the reading that "
        "gives the numbers of Table 8. Memory is what the running requests need after they grew, "
        f"before eviction. Greedy admission evicts in {evicting:.0%} of the iterations after the "
        f"first hundred. Capped at x* = {data['best']:.2f} an iteration it never does, and "
        f"memory stays above {low:.0%} of capacity."
    )


def _sweep_data() -> Data:
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


def _sweep_draw(data: Data, canvas: Canvas) -> None:
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


def _sweep_caption(data: Data) -> str:
    done, cap = data["completed"], data["cap"]
    return (
        "The setting of Table 8 and Figure 28, the same arrivals at every cap; means of "
        f"{_RUNS} runs of 4,000 iterations. Throughput peaks at a cap of "
        f"{cap[int(done.argmax())]:.2f}, which is x*, with {done.max():.3f} completed an iteration "
        f"after the first 20; at a cap of {cap[-1]:g}, which hardly binds, it is {done[-1]:.3f} "
        f"with {data['evicted'][-1]:.3f} evicted. Below x* nothing is evicted and capacity "
        "idles."
    )


_PARAMETERS = {
    "capacity": 1000,
    "input_length": 20,
    "decode_length": 20,
    "arrivals": "Poisson, rate 5, no queue",
    "start": "empty",
    "form": "masses",
    "seed": 8,
}
FIGURES = (
    Figure(
        id="congestion_figure_28",
        title="A cap of x* on admission keeps memory below capacity",
        source="Congestion, Figure 28",
        parameters=_PARAMETERS | {"iterations": _ITERATIONS},
        size=(9.0, 4.4),
        data=_memory_data,
        draw=_memory_draw,
        caption=_memory_caption,
    ),
    Figure(
        id="congestion_figure_29",
        title="Throughput peaks where admission is capped at x*, and evictions start there",
        source="Congestion, Figure 29",
        parameters=_PARAMETERS | {"runs": _RUNS, "iterations": 4000},
        size=(7.2, 3.8),
        data=_sweep_data,
        draw=_sweep_draw,
        caption=_sweep_caption,
    ),
)
