"""Hit rate by cache size on Mooncake's traces, and what RLT is worth there."""

from typing import Any

import numpy as np

from fluidkv.answers.cache.question import HIT_RATES
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, ORANGE, name_axes, zero_line
from fluidkv_papers.routing.figures import sweeps
from fluidkv_papers.routing.instances import mooncake

_NAMES = {"conversation": "conversations", "synthetic": "synthetic trace"}
_LOOKS = {"blocks": (ORANGE, "-", "s"), "nodes": (BLUE, "--", "o")}


def data() -> Data:
    """By trace: curves with blocks as of `fluidkv cache`, and `gain.` of RLT over L-LRU."""
    found: dict[str, Any] = {}
    for trace in mooncake.TRACES:
        totals = mooncake.totals()[trace]
        found[f"{trace}.capacity"] = np.array(mooncake.CAPACITIES, float)
        found[f"{trace}.ceiling"] = totals.found_tokens / totals.tokens
        for policy in mooncake.POLICIES:
            points = mooncake.curves()[trace, "blocks", policy]
            found[f"{trace}.{policy}.hit_rate"] = np.array([p.hit_rate for p in points])
            found[f"{trace}.{policy}.margin"] = np.array([p.margin for p in points])
        for units in mooncake.UNITS:
            lru, rlt = (mooncake.curves()[trace, units, name] for name in ("lru", "rlt"))
            gain = [b.hit_rate - a.hit_rate for a, b in zip(lru, rlt, strict=True)]
            found[f"gain.{trace}.{units}"] = np.array(gain)
            found[f"margin.{trace}.{units}"] = np.array([p.margin for p in rlt])
    return found


def draw(data: Data, canvas: Canvas) -> None:
    upper, lower = canvas.subplots(2, 2, sharex=True, height_ratios=(3, 2))
    for place, (trace, name) in enumerate(_NAMES.items()):
        part = sweeps.part(data, trace)
        HIT_RATES.draw({**part, "capacity": part["capacity"] / 1e6}, upper[place])
        upper[place].set(title=f"Mooncake, {name}", xlabel="")
        ax, x = lower[place], part["capacity"] / 1e6
        zero_line(ax, 0)
        for units, (colour, line, marker) in _LOOKS.items():
            gain, margin = (100 * data[f"{key}.{trace}.{units}"] for key in ("gain", "margin"))
            label = "blocks of 512 tokens" if units == "blocks" else "whole nodes"
            style: dict[str, Any] = {"color": colour, "linestyle": line, "marker": marker}
            ax.plot(x, gain, markersize=4, fillstyle="none", label=label, **style)
            ax.fill_between(x, gain - margin, gain + margin, color=colour, alpha=0.2, linewidth=0)
        name_axes(ax, "cache size, millions of tokens", "RLT less L-LRU, points")
        ax.set_ylim(-1.9, 1.9)
        ax.xaxis.set_major_formatter("{x:g}")
    lower[0].legend(loc="upper right")
    handles, labels = upper[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=5)


def caption(data: Data) -> str:
    words = []
    for trace, name in _NAMES.items():
        part, totals = sweeps.part(data, trace), mooncake.totals()[trace]
        gain = 100 * data[f"gain.{trace}.blocks"]
        low, high = int(gain.argmin()), int(gain.argmax())
        sizes = part["capacity"] / 1e6
        words.append(
            f"{name.capitalize()}: {totals.requests:,} requests, an infinite cache finds "
            f"{100 * part['ceiling']:.1f} % of the tokens (dashed); RLT less L-LRU is "
            f"{gain[low]:+.2f} points at {sizes[low]:g} million tokens to {gain[high]:+.2f} at "
            f"{sizes[high]:g}.{HIT_RATES.coinciding(part)}"
        )
    return (
        "Share of prompt tokens found by cache size, requests one by one, prompts alone cached. "
        "Above: blocks of 512 tokens go one at a time. Below: what RLT finds more than L-LRU, with "
        f"blocks and with whole nodes of a radix tree, as in SGLang. RLT and random leaf: means of "
        f"{mooncake.SEEDS} seeds, bands 95 % for the mean. {' '.join(words)}"
    )


FIGURE = Figure(
    id="mooncake_hit_rate",
    title="Real prompts: RLT and L-LRU are within 1.5 points of each other, the optimum far above",
    source="two traces of Mooncake, through every policy",
    parameters={"seeds": mooncake.SEEDS, "units": list(mooncake.UNITS)},
    size=(10.5, 7.2),
    data=data,
    draw=draw,
    caption=caption,
)
