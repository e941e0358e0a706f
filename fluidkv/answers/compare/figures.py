"""Engines against the first one, metric by metric; and two capacity policies along two axes."""

from functools import partial

import numpy as np

from fluidkv.answers.compare.crossover import Crossover
from fluidkv.answers.compare.result import EngineComparison
from fluidkv.answers.served.rows import FELT
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, BLACK, GREY)


def compare_figures(answer: EngineComparison) -> list[Figure]:
    """The engines, and where two policies cross if that was asked."""
    crossed = answer.crossover
    return [engines_figure(answer), *([] if crossed is None else [crossover_figure(crossed)])]


def engines_figure(answer: EngineComparison) -> Figure:
    """Differences from the first engine in what users feel, with intervals for all at once."""
    title = _title(answer)
    return Figure(
        id="engines",
        title=title,
        source="fluidkv compare",
        parameters={
            "engines": list(answer.names),
            "capacity": answer.setup.capacity,
            "demand": answer.setup.demand.kind,
            "runs": answer.runs,
            "requests": answer.requests,
        },
        size=(9.0, 1.4 + 0.34 * len(answer.felt) * (len(answer.engines) - 1) ** 0.6),
        data=partial(_engines_data, answer),
        draw=partial(_draw_engines, title=title, felt=answer.felt, names=answer.names),
        caption=partial(_engines_caption, answer),
    )


def _title(answer: EngineComparison) -> str:
    names = [answer.names[index] for index in answer.better]
    if names:
        return f"Better than {answer.names[0]} beyond noise: {', '.join(names)}"
    return f"Nothing is better than {answer.names[0]} in all that users feel"


def _engines_data(answer: EngineComparison) -> Data:
    data: dict[str, object] = {"engines": float(len(answer.engines))}
    for metric in answer.felt:
        against = answer.against[metric]
        data[f"{metric}_mean"], data[f"{metric}_half"] = against.mean, against.wide
        bias = answer.bias.get(metric)
        data[f"{metric}_bar"] = float("nan") if bias is None else bias.error_bar
    return data


def _draw_engines(
    data: Data, canvas: Canvas, *, title: str, felt: tuple[str, ...], names: tuple[str, ...]
) -> None:
    ax = canvas.subplots()
    others = len(names) - 1
    for row, metric in enumerate(felt):
        bar = data[f"{metric}_bar"]
        if np.isfinite(bar):
            ax.fill_betweenx([row - 0.45, row + 0.45], -bar, bar, color=GREY, alpha=0.2, lw=0)
        for other in range(1, others + 1):
            place = row + 0.7 * ((other - 0.5) / others - 0.5)
            half = np.nan_to_num(data[f"{metric}_half"][other])
            ax.errorbar(
                data[f"{metric}_mean"][other],
                place,
                xerr=half,
                fmt="o",
                markersize=4,
                color=_COLOURS[(other - 1) % len(_COLOURS)],
                label=names[other] if not row else None,
            )
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set_yticks(range(len(felt)), [FELT[metric] for metric in felt])
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:+.0%}")
    ax.set_xlabel(f"difference from {names[0]}; of times less is better")
    canvas.legend(loc="outside lower center", ncols=2)
    canvas.suptitle(title)


def _engines_caption(answer: EngineComparison, data: Data) -> str:
    what = "runs" if answer.pairs == "run" else "consecutive parts of one run"
    text = (
        f"{answer.requests:,} requests a run, the same for all engines, in "
        f"{answer.setup.capacity:,} KV tokens. Points are means over {what}; bars hold for all "
        f"{answer.comparisons} differences at once (95 %, Bonferroni)."
    )
    if answer.bias:
        text += " Grey: what the simulation misses on the log."
    return text


def crossover_figure(crossover: Crossover) -> Figure:
    """Throughput and tail of both policies along max_tokens and along the pool."""
    title = _crossover_title(crossover)
    return Figure(
        id="crossover",
        title=title,
        source="fluidkv compare --crossover",
        parameters={
            "capacity": crossover.setup.capacity,
            "demand": crossover.setup.demand.kind,
            "runs": crossover.runs,
            "requests": crossover.requests,
        },
        size=(9.0, 5.6),
        data=partial(_crossover_data, crossover),
        draw=partial(
            _draw_crossover,
            title=title,
            felt=(crossover.felt[0], _tail(crossover)),
            unit="s" if crossover.setup.clock.unit == "s" else "iterations",
        ),
        caption=partial(_crossover_caption, crossover),
    )


def _tail(crossover: Crossover) -> str:
    return "latency_p99" if "latency_p99" in crossover.felt else crossover.felt[-1]


def _crossover_title(crossover: Crossover) -> str:
    crossing = crossover.by_max_tokens.crossings[crossover.felt[0]]
    if crossing.found:
        return (
            f"No-evict is faster up to {crossing.low:g}x max_tokens, max-utilization from "
            f"{crossing.high:g}x"
        )
    if crossing.before is None:
        return "The two capacity policies are equally fast"
    name = "No-evict" if "no-evict" in crossing.before else "Max-utilization"
    return f"{name} is faster wherever the two differ"


def _crossover_data(crossover: Crossover) -> Data:
    data: dict[str, object] = {}
    for along in (crossover.by_max_tokens, crossover.by_capacity):
        data[f"{along.axis}_points"] = np.array(along.points)
        for metric in (crossover.felt[0], _tail(crossover)):
            values = along.table[metric].values
            for policy, name in enumerate(("reserving", "evicting")):
                key = f"{along.axis}_{metric}_{name}"
                data[key] = values[policy].mean(axis=1)
                data[f"{key}_low"] = values[policy].min(axis=1)
                data[f"{key}_high"] = values[policy].max(axis=1)
            crossing = along.crossings[metric]
            at = float("nan") if crossing.at is None else crossing.at
            data[f"{along.axis}_{metric}_at"] = at
    return data


def _draw_crossover(
    data: Data, canvas: Canvas, *, title: str, felt: tuple[str, str], unit: str
) -> None:
    panels = canvas.subplots(2, 2, sharex="col")
    for column, axis in enumerate(("max_tokens", "capacity")):
        for row, metric in enumerate(felt):
            _draw_panel(panels[row][column], data, axis, metric)
    panels[1][0].set_xlabel("max_tokens over outputs")
    panels[1][1].set_xlabel("KV tokens of the pool")
    panels[0][0].set_ylabel(f"output tokens {'a second' if unit == 's' else 'an iteration'}")
    panels[1][0].set_ylabel(f"{FELT[felt[1]]}, {unit}")
    handles, labels = panels[0][0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=2)
    canvas.suptitle(title)


def _draw_panel(ax: Axes, data: Data, axis: str, metric: str) -> None:
    points = data[f"{axis}_points"]
    for name, label, colour in (
        ("reserving", "GUARANTEED_NO_EVICT", BLUE),
        ("evicting", "MAX_UTILIZATION", ORANGE),
    ):
        key = f"{axis}_{metric}_{name}"
        ax.fill_between(points, data[f"{key}_low"], data[f"{key}_high"], color=colour, alpha=0.2)
        ax.plot(points, data[key], color=colour, marker="o", markersize=3.5, label=label)
    at = data[f"{axis}_{metric}_at"]
    if np.isfinite(at):
        ax.axvline(at, color=GREY, linewidth=0.8, linestyle="--")
    ax.set_xscale("log")
    ax.set_xticks(points, [f"{p:g}" if axis == "max_tokens" else f"{p:,.0f}" for p in points])
    ax.minorticks_off()
    ax.tick_params(axis="x", rotation=0 if axis == "max_tokens" else 30)
    ax.set_ylim(bottom=0)


def _crossover_caption(crossover: Crossover, data: Data) -> str:
    return (
        f"{crossover.requests:,} requests a run, {crossover.runs} runs a point, the same for both "
        f"policies; bands are from the worst run to the best. Left: {crossover.setup.capacity:,} "
        f"KV tokens, clients that ask for more than they get. Right: clients that ask for "
        f"{crossover.ratio:.3g} times what they get, other pools. Dashed: where the means cross."
    )
