"""The picture of `fluidkv preempt --out`: every rule, its tax, its speed and its tails."""

from functools import partial
from typing import Any

import numpy as np

from fluidkv.answers.preempt.result import PreemptAnswer
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, name_axes
from fluidkv.serving.rules import Restore

_LOOKS = {
    Restore.RECOMPUTE: (BLUE, "o"),
    Restore.SWAP: (ORANGE, "s"),
    Restore.CHEAPER: (GREEN, "D"),
}
"""Colour and marker, which is told from the others without its colour."""
_NAMES = {"recompute_tax": "recompute tax, %", "attained": "all objectives met, %"}


def preempt_figure(answer: PreemptAnswer) -> Figure:
    """A row for each victim, a mark for each restore rule; the rest is the engine's own."""
    rows = len({combination.victim for combination in answer.combinations})
    return Figure(
        id="victims",
        title=f"Whom to preempt: {answer.limits.capacity:,} KV tokens, {answer.engine.label}",
        source="fluidkv preempt",
        parameters=_parameters(answer),
        size=(9.5, 1.3 + 0.28 * rows),
        data=partial(_data, answer),
        draw=partial(_draw, answer),
        caption=partial(_caption, answer),
    )


def _parameters(answer: PreemptAnswer) -> dict[str, object]:
    demand, clock = answer.demand, answer.clock
    return {
        "engine": answer.engine.label,
        "capacity": answer.limits.capacity,
        "block_size": answer.limits.block_size,
        "demand": demand.kind,
        "rate": demand.rate,
        "clock": list(clock.durations),
        "requests": answer.requests,
        "runs": answer.runs,
    }


def _panels(answer: PreemptAnswer) -> list[str]:
    first = ["ttft_p99"] if answer.first_tokens else []
    slo = [] if answer.objectives is None else ["attained"]
    return ["recompute_tax", answer.throughput, *first, "longest_gap_p99", *slo]


def _label(answer: PreemptAnswer, metric: str) -> str:
    unit = "s" if answer.clock.unit == "s" else "iterations"
    timed = {
        answer.throughput: f"requests / {'s' if unit == 's' else 'iteration'}",
        "ttft_p99": f"p99 TTFT, {unit}",
        "longest_gap_p99": f"p99 longest gap, {unit}",
    }
    return (_NAMES | timed)[metric]


def _shown(answer: PreemptAnswer) -> list[int]:
    """Combinations with the engine's own allocation, and the first predictor."""
    own = answer.combinations[0]
    return [
        index
        for index, each in enumerate(answer.combinations)
        if (each.allocation, each.predictor) == (own.allocation, own.predictor)
    ]


def _data(answer: PreemptAnswer) -> Data:
    shown = _shown(answer)
    victims = _victims(answer)
    data: dict[str, Any] = {
        "victim": [victims.index(answer.combinations[i].names["victim"]) for i in shown],
        "restore": [list(Restore).index(answer.combinations[i].restore) for i in shown],
    }
    for metric in _panels(answer):
        data[metric] = answer.table[metric].values[shown]
    return {name: np.asarray(values, float) for name, values in data.items()}


def _victims(answer: PreemptAnswer) -> list[str]:
    """The engine's own first, the others as in the table that is printed."""
    return list(dict.fromkeys(answer.combinations[i].names["victim"] for i in answer.ranked))


def _draw(answer: PreemptAnswer, data: Data, canvas: Canvas) -> None:
    panels, victims = _panels(answer), _victims(answer)
    axes = np.atleast_1d(canvas.subplots(1, len(panels), sharey=True))
    restores = sorted(set(data["restore"].astype(int).tolist()))
    for ax, metric in zip(axes, panels, strict=True):
        factor = 1.0 if metric.endswith(("p99", "time", "throughput")) else 100.0
        for place, restore in enumerate(restores):
            colour, marker = _LOOKS[list(Restore)[restore]]
            shift = 0.5 * (place + 1) / (len(restores) + 1) - 0.25
            here = data["restore"] == restore
            values, rows = factor * data[metric][here], data["victim"][here] + shift
            runs = np.repeat(rows, values.shape[1])
            ax.scatter(values.ravel(), runs, s=5, color=colour, alpha=0.35, linewidths=0)
            name = list(Restore)[restore].name.lower()
            ax.scatter(values.mean(axis=1), rows, s=22, color=colour, marker=marker, label=name)
        ax.axvline(factor * data[metric][0].mean(), color=GREY, linewidth=0.8, linestyle="--")
        name_axes(ax, _label(answer, metric))
        if _spread(data[metric]):
            _logarithmic(ax)
        ax.set_yticks(range(len(victims)), victims)
        ax.set_ylim(len(victims) - 0.5, -0.5)
    axes[0].get_yticklabels()[0].set_color(BLACK)
    axes[0].get_yticklabels()[0].set_fontweight("bold")
    if len(restores) > 1:
        canvas.legend(
            *axes[0].get_legend_handles_labels(), ncols=len(restores), loc="outside lower center"
        )


def _logarithmic(ax: Axes) -> None:
    """Plain numbers at 1, 2 and 5 of each power of ten: those of all minor ticks would overlap."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_locator(NullLocator())


def _spread(values: np.ndarray) -> bool:
    """Whether values lie a power of ten apart, all above 0."""
    return bool(values.min() > 0 and values.max() > 10 * values.min())


def _caption(answer: PreemptAnswer, data: Data) -> str:
    tax, gap = data["recompute_tax"].mean(axis=1), data["longest_gap_p99"].mean(axis=1)
    shown = _shown(answer)
    least, short = int(tax.argmin()), int(np.nanargmin(gap)) if np.isfinite(gap).any() else 0
    names = [answer.combinations[i].names for i in shown]

    def said(place: int) -> str:
        return f"{names[place]['victim']} ({names[place]['restore']})"

    return (
        f"{answer.runs} runs of {answer.requests:,} requests, the same for all rules; a small dot "
        f"for each run, a large mark at their mean, a dashed line at the mean of the engine's own "
        f"rule (bold). The recompute tax is least with {said(least)}, {100 * tax[least]:.1f} %, "
        f"beside {100 * tax[0]:.1f} % of the engine's own; the p99 of the longest gap with "
        f"{said(short)}, {gap[short]:.3g} beside {gap[0]:.3g}. Simulated."
    )
