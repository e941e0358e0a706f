"""Table 3: hit rate against cache size on one worker in round-robin order, a step for L-LRU."""

from collections.abc import Sequence

import numpy as np

from fluidkv import prefix
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, NOTE, ORANGE, name_axes
from fluidkv.papers.routing.instances import one_worker, printed

CAPACITIES = (*range(90_000, 180_001, 15_000), *range(184_000, 200_001, 1_000), 205_000, 210_000)
NEAR = (183_500, 201_500)
_LOOKS = {
    "opt": ("furthest next use (offline)", GREY, ":"),
    "random": ("random leaf", GREEN, "--"),
    "rlt": ("RLT", BLUE, "-"),
    "lru": ("L-LRU", ORANGE, "-"),
}


def data(capacities: Sequence[int] = CAPACITIES) -> Data:
    """ "capacity", and the hit rate of each policy, per cent: (capacity,)."""
    trie = one_worker.trie()
    found = {
        name: [
            100 * prefix.run_cache(trie, size, prefix.Policy(name)).hit_rate()
            for size in capacities
        ]
        for name in _LOOKS
    }
    return {
        "capacity": np.array(capacities, float),
        "ceiling": 100 * one_worker.ceiling(),
        **{name: np.array(values) for name, values in found.items()},
    }


def draw(data: Data, canvas: Canvas) -> None:
    left, right = canvas.subplots(1, 2, width_ratios=(1, 1))
    for ax in (left, right):
        for name, (label, color, style) in _LOOKS.items():
            ax.plot(data["capacity"] / 1e3, data[name], color=color, linestyle=style, label=label)
        name_axes(ax, "KV tokens, thousands", "hit rate, % of prompt tokens")
    left.axhline(data["ceiling"], color=GREY, linewidth=0.6)
    left.set(ylim=(-1, 52), title="from far too small to all of it")
    right.set(xlim=[edge / 1e3 for edge in NEAR], ylim=(-1, 52), title="where L-LRU steps")
    _printed(right, data)
    canvas.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=4)


def _printed(ax: Axes, data: Data) -> None:
    """Where the curves have the printed hit rates."""
    for name, printed_rate in one_worker.PRINTED.items():
        size = place(data, name, printed_rate) / 1e3
        ax.plot([size], [printed_rate], marker="o", color=BLACK, markersize=5, zorder=4)
        ax.annotate(
            f"Table 3: {printed_rate:g} %", (size, printed_rate), xytext=(-8, 6), ha="right", **NOTE
        )


def place(data: Data, name: str, rate: float) -> float:
    """The first size at which a curve has a hit rate, linear between those that were run."""
    values, sizes = data[name], data["capacity"]
    after = int(np.argmax(values >= rate))
    part = (rate - values[after - 1]) / (values[after] - values[after - 1])
    return float(sizes[after - 1] + part * (sizes[after] - sizes[after - 1]))


def caption(data: Data) -> str:
    lru, rlt = (place(data, name, rate) for name, rate in one_worker.PRINTED.items())
    there = float(np.interp(lru, data["capacity"], data["rlt"]))
    begins = float(data["capacity"][np.argmax(data["lru"] > 0) - 1])
    ends = float(data["capacity"][np.argmax(data["lru"] > data["ceiling"] - 0.01)])
    rises = [
        1e3 * np.diff(np.interp([begins, ends], data["capacity"], data[name]))[0] / (ends - begins)
        for name in ("lru", "rlt")
    ]
    return (
        f"{printed.ONE_WORKER_GROUPS} groups of 32 requests in round-robin order, one after the "
        f"other, answers of 4 tokens; a round of them is {one_worker.round_tokens():,} tokens with "
        f"answers. L-LRU finds nothing up to {begins:,.0f} tokens and all that there is, "
        f"{data['ceiling']:.1f} %, from {ends:,.0f} on. Its printed 6.06 % lie at {lru:,.0f} "
        f"tokens; there RLT has {there:.1f} %, and the printed 41.93 % at {rlt:,.0f}. The paper "
        f"says approximately 200,000. Over those {ends - begins:,.0f} tokens L-LRU rises by "
        f"{rises[0]:.1f} points for 1,000 tokens, and RLT by {rises[1]:.2f}."
    )


FIGURE = Figure(
    id="routing_one_worker",
    title="Round-robin order: within four per cent of cache, L-LRU goes from nothing to all",
    source="Routing, Table 3",
    parameters={
        "groups": printed.ONE_WORKER_GROUPS,
        "queries": printed.REQUESTS_A_GROUP,
        "capacities": list(CAPACITIES),
    },
    size=(9.5, 4.2),
    data=data,
    draw=draw,
    caption=caption,
)
