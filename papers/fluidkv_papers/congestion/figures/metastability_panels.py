"""The panels of the figure `metastability`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fluidkv.figures.figure import Axes, Canvas, Data
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SMALL_NOTE, name_axes

_SHADES = ("#B9DDF1", "#7FB5DA", "#4E93C5", "#2A67A0", "#123C69")
_ACTIONS: dict[str, tuple[str, Any]] = {
    "nothing": (ORANGE, "-"),
    "sequences": (PURPLE, (0, (3, 1))),
    "dropped": (GREY, (0, (1, 1))),
    "shed": (GREEN, (0, (6, 1, 1, 1))),
    "cap": (BLUE, (0, (6, 1))),
}
"""Action -> its colour and line, to be told apart without colour as well."""
_SHOWN = 4000  # iterations of panel (e); what is later is alike


def survival_panel(data: Data, ax: Axes) -> None:
    time = data["survival_time"]
    for index, rate in enumerate(data["survival_rate"]):
        color = _SHADES[index]
        share, low, high = (data[f"survival_{n}_{index}"] for n in ("share", "low", "high"))
        ax.plot(time, share, color=color, label=f"{rate:g}")
        ax.fill_between(time, low, high, color=color, alpha=0.35, linewidth=0)
        fit = np.exp(-data["hazard"][index] * time)
        ax.plot(time, fit, color=BLACK, linewidth=0.7, linestyle=(0, (4, 3)))
    ax.plot([], [], color=BLACK, linewidth=0.7, linestyle=(0, (4, 3)), label="constant\nhazard")
    ax.set_xscale("log")
    ax.set_xlim(left=2)  # room for the legend
    name_axes(
        ax,
        "iterations since an empty start",
        "share of runs still smooth",
        "(a) collapse comes by chance",
    )
    ax.set_ylim(0, 1.02)
    ax.legend(title="arrivals an\niteration", loc="lower left")


def load_panel(data: Data, ax: Axes, capacities: Sequence[int]) -> None:
    for capacity, color in zip(capacities, _SHADES[1:], strict=False):
        load, mean, least, most, events = (
            data[f"time_{n}_{capacity}"] for n in ("load", "mean", "least", "most", "events")
        )
        seen = events > 0
        error = [mean[seen] - least[seen], most[seen] - mean[seen]]
        label = f"M = {capacity:,}"
        style = {"color": color, "marker": "o", "markersize": 3, "linewidth": 1.2}
        ax.errorbar(load[seen], mean[seen], yerr=error, label=label, elinewidth=0.8, **style)
        ax.plot(load[~seen], least[~seen], color=color, marker="^", markersize=5, linestyle="")
    label = "no collapse: at least"
    ax.plot([], [], color=BLACK, marker="^", markersize=5, linestyle="", label=label)
    worst = data["worst"] / data["best"]
    for at, name in ((worst, "worst cycle"), (1.0, "x*")):
        ax.axvline(at, color=GREY, linewidth=0.8, linestyle=":")
        ax.annotate(
            name,
            (at, 0.97),
            xycoords=("data", "axes fraction"),
            xytext=(-3, 0),
            rotation=90,
            ha="right",
            va="top",
            **SMALL_NOTE,
        )
    ax.set(yscale="log", xlim=(0.57, 1.02), yticks=[10.0**k for k in range(0, 9, 2)])
    ax.set_ylim(bottom=10**-4.5)  # room for the legend
    ax.minorticks_off()
    name_axes(
        ax, "load, arrivals / x*", "mean iterations to collapse", "(b) the more memory, the rarer"
    )
    handles, names = ax.get_legend_handles_labels()
    order = sorted(range(len(names)), key=lambda k: names[k] == label)  # that one last
    ax.legend(
        [handles[k] for k in order],
        [names[k] for k in order],
        loc="lower left",
        frameon=True,
        framealpha=1,
        edgecolor="none",
    )


def ramp_panel(data: Data, ax: Axes, steps_up: int) -> None:
    rate = data["ramp_rate"]
    low, middle, high = (data[f"ramp_throughput_{level}"] for level in (10, 50, 90))
    for part, color, label in (
        (slice(0, steps_up), BLUE, "load rises"),
        (slice(steps_up - 1, None), ORANGE, "load falls"),
    ):
        ax.plot(rate[part], middle[part], color=color, label=label, marker="o", markersize=2.5)
        ax.fill_between(rate[part], low[part], high[part], color=color, alpha=0.2, linewidth=0)
    ends = [rate.min(), rate.max()]
    ax.plot(ends, ends, color=GREY, linewidth=0.8, linestyle=":", label="all that arrives")
    name_axes(
        ax, "arrivals an iteration", "completions an iteration", "(c) up one way, down another"
    )
    ax.legend(loc="upper left")


def return_panel(data: Data, ax: Axes, canvas: Canvas) -> None:
    rate, backlog = data["return_rate"], data["return_backlog"]
    share = data["return_share"].reshape(len(backlog), len(rate))
    rows = np.arange(len(backlog))
    mesh = ax.pcolormesh(rate, rows, 100 * share, cmap="viridis", vmin=0, vmax=100, rasterized=True)
    canvas.colorbar(mesh, ax=ax, label="% smooth again", pad=0.01)
    fastest = data["collapsed"].max()
    # The rows are no scale: the bound is placed between them by interpolation.
    bound = fastest - backlog / data["return_horizon"]
    label = "fluid bound: T - backlog / time"
    ax.plot(bound, rows, color="white", linewidth=1.5, marker="o", markersize=3, label=label)
    ax.axvline(data["worst"], color="white", linewidth=0.8, linestyle=":", label="worst cycle")
    legend = ax.legend(loc="upper right")
    for text in legend.get_texts():
        text.set_color("white")
    ax.set_yticks(rows, [f"{b:.0f}" for b in backlog])
    name_axes(
        ax,
        "arrivals an iteration after the collapse",
        "requests waiting",
        "(d) how much load to shed",
    )


def actions_panel(data: Data, ax: Axes, labels: Mapping[str, str], shed_for: int) -> None:
    time = data["action_time"]
    for name, label in labels.items():
        low, middle, high = (data[f"action_{name}_{level}"] for level in (10, 50, 90))
        (color, style), last = _ACTIONS[name], int(np.flatnonzero(time <= _SHOWN)[-1])
        ax.fill_between(time, low, high, color=color, alpha=0.1, linewidth=0)
        for edge in (low, high):  # bands lie on one another; their edges stay apart
            ax.plot(time, edge, color=color, linewidth=0.6, alpha=0.7)
        # A median of none lies on the axis, and is to be seen there.
        line = {"color": color, "linestyle": style, "label": label, "clip_on": False}
        ax.plot(time[: last + 1], middle[: last + 1], **line)
        if middle[last] == 0:
            end = (time[last], 0)
            ax.annotate("nobody waits, in the median", end, (-4, 3), ha="right", **SMALL_NOTE)
    ax.axvline(shed_for, color=GREEN, linewidth=0.8, linestyle=":")
    ax.set_yscale("symlog", linthresh=1)
    ax.set_ylim(0, 4e4)  # room for the legend
    powers = [10**k for k in range(5)]
    ax.set_yticks([0, *powers], ["0", *(f"{y:,}" for y in powers)], minor=False)
    name_axes(ax, "iterations since the action", "requests waiting", "(e) what to do")
    ax.set_xlim(0, min(_SHOWN, time[-1]))
    ax.legend(loc="upper left", ncols=2)
