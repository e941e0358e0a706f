"""Hit rate by cache size, a line for each policy, as `fluidkv cache --out` draws it."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from fluidkv import answers
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, name_axes

# Colour, line and marker: each is told from the others without its colour.
LOOKS: dict[str, tuple[str, str, str]] = {
    "opt": (BLACK, "-", ""),
    "lru": (BLUE, "-", "o"),
    "rlt": (ORANGE, "-", "s"),
    "random": (ORANGE, ":", "D"),
    "slru": (GREEN, "-", "^"),
    "lfu": (GREEN, ":", "v"),
    "fifo": (BLUE, ":", "x"),
    "mru": (PURPLE, "-", "<"),
    "filo": (PURPLE, ":", ">"),
    "priority": (GREY, "-", "P"),
    "released": (GREY, ":", "+"),
}
NAMES = {
    "opt": "OPT (knows the future)",
    "lru": "L-LRU",
    "rlt": "RLT",
    "random": "random leaf",
    "released": "least recently released",
}
ALIKE = 5e-4
"""Shares of tokens that no eye tells apart."""


def cache_figure(answer: "answers.CacheAnswer") -> Figure:
    """Every curve of an answer."""
    return Figure(
        id="hit_rate_by_size",
        title=_title(answer),
        source="fluidkv cache: prompts one by one, no engine",
        parameters={
            "source": answer.prompted.name,
            "page": answer.granularity.page,
            "nodes": answer.granularity.nodes,
            "answers_cached": answer.answers,
        },
        size=(7.5, 4.4),
        data=partial(curves, answer),
        draw=draw_figure,
        caption=partial(_caption, answer),
    )


def curves(answer: "answers.CacheAnswer") -> Data:
    """Capacities, and of each policy its hit rates and their margins."""
    data: dict[str, Any] = {
        "capacity": np.array(answer.capacities, float),
        "ceiling": answer.ceiling,
    }
    for curve in answer.curves:
        data[f"{curve.policy.value}.hit_rate"] = curve.hit_rate
        data[f"{curve.policy.value}.margin"] = curve.margin
    return data


def policies_of(data: Data) -> list[str]:
    """The policies in the data, in their order."""
    return [key.removesuffix(".hit_rate") for key in data if key.endswith(".hit_rate")]


def draw_figure(data: Data, canvas: Canvas) -> None:
    ax = canvas.subplots()
    draw_curves(data, ax)
    canvas.legend(*ax.get_legend_handles_labels(), loc="outside right upper")


def draw_curves(data: Data, ax: Axes, *, log: str = "x", apart: float = 0) -> None:
    """Lines with their margins as bands, and the ceiling.

    Args:
        log: as in `name_axes`.
        apart: markers stand at multiples of this size alone; 0: at every size.
    """
    x = data["capacity"]
    marked = np.flatnonzero(x % apart == 0).tolist() if apart else None
    ax.axhline(100 * data["ceiling"], color=GREY, linewidth=0.8, linestyle="--", label="infinite")
    for name in policies_of(data):
        colour, line, marker = LOOKS[name]
        rate, margin = data[f"{name}.hit_rate"], data[f"{name}.margin"]
        label = NAMES.get(name, name.upper())
        style: dict[str, Any] = {"color": colour, "linestyle": line, "marker": marker}
        style["markevery"] = marked
        ax.plot(x, 100 * rate, markersize=4, fillstyle="none", label=label, **style)
        if margin.any():
            low, high = 100 * (rate - margin), 100 * (rate + margin)
            ax.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    name_axes(ax, "cache size, tokens", "prompt tokens found, %", log=log)
    ax.set_ylim(bottom=0)


def coinciding(data: Data, policies: Sequence[str] | None = None) -> str:
    """Which curves lie on each other at every size, in words; "" for none."""
    left = list(policies_of(data) if policies is None else policies)
    groups = []
    while left:
        first, *left = left
        same = [
            name
            for name in left
            if np.abs(data[f"{name}.hit_rate"] - data[f"{first}.hit_rate"]).max() < ALIKE
        ]
        left = [name for name in left if name not in same]
        if same:
            *front, last = (NAMES.get(name, name.upper()) for name in (first, *same))
            groups.append(f"{', '.join(front)} and {last}")
    return "".join(f" {group} lie on each other." for group in groups)


def _title(answer: "answers.CacheAnswer") -> str:
    return f"{answer.prompted.name}: what a prefix cache finds, by its size"


def _caption(answer: "answers.CacheAnswer", data: Data) -> str:
    drawn = max(curve.tokens.shape[1] for curve in answer.curves)
    seeds = f" Bands: 95 % for the mean over seeds, from {drawn} of them." if drawn > 1 else ""
    kept = "prompts and answers" if answer.answers else "prompts alone"
    return (
        f"Share of prompt tokens found, {len(answer.prompted.requests):,} requests one by one, "
        f"{kept} cached. An infinite cache finds {100 * data['ceiling']:.2f} % (dashed)."
        f"{seeds}{coinciding(data)}"
    )
