"""Figures 7, 8, 11 to 14: policies on the same prompts, over what is asked of the server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fluidkv import runs, serving
from fluidkv.figures.figure import Axes, Canvas, Data
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SMALL_NOTE, name_axes
from fluidkv_papers.bands import draw_band, plain_numbers, ranged
from fluidkv_papers.wait.instances import compared

LOOKS = {
    "new_first": ("FCFS, new first (the paper's vLLM)", ORANGE, "--", "v"),
    "running_first": ("FCFS, running first (its Sarathi)", BLACK, "-", "s"),
    "wait": ("WAIT, thresholds that fill memory", BLUE, "-", "o"),
    "wait_least": ("WAIT, least thresholds for the rate", GREEN, "--", "^"),
    "nested": ("Nested WAIT, least thresholds for the rate", BLUE, "-", "o"),
    "nested_fixed": ("Nested WAIT, thresholds fixed", GREEN, "--", "^"),
    "greedy": ("greedy, LPF", ORANGE, "--", "v"),
    "cap": ("LPF, admission capped", PURPLE, "-", "D"),
    "vllm": ("vLLM, watermark 5 %", GREY, "-", "s"),
}
"""Key of a policy -> its name, colour, line and marker, the same in every figure."""
_COINCIDE = 0.05  # of each other: no two lines can be told apart on an axis from zero


@dataclass(frozen=True)
class Point:
    """One place on the axis.

    Args:
        x: where.
        tables: prompts, one table a run.
        contenders: key -> policy; a key that is missing has no value here.
        window: of each table, as in `compared.compare_policies`.
    """

    x: float
    tables: Sequence["runs.Requests"]
    contenders: Mapping[str, "compared.Contender"]
    window: tuple[float, float]


def sweep(points: Sequence[Point], *, clock: "serving.IterationClock", capacity: int) -> Data:
    """Every measure of `compare_policies` at every point: mean, least and most over the tables.

    Shapes: "x" and all others (point,). "KEY.MEASURE", and "..._low", "..._high"; NaN where a
    policy has no value. "served" is throughput over what was asked for, in each run.
    """
    keys = list(dict.fromkeys(key for point in points for key in point.contenders))
    places = [point for point in points for _ in point.tables]
    measured = compared.compare_policies(
        [table for point in points for table in point.tables],
        {key: [place.contenders.get(key) for place in places] for key in keys},
        clock=clock,
        capacity=capacity,
        windows=[place.window for place in places],
    )
    ends = np.cumsum([len(point.tables) for point in points])[:-1]
    found: dict[str, np.ndarray | float] = {"x": np.array([point.x for point in points], float)}
    found["capacity"] = float(capacity)
    measured["served"] = measured["throughput"] / measured["offered"]
    for row, key in enumerate(keys):
        for name, values in measured.items():
            found |= ranged(f"{key}.{name}", np.split(values[row], ends))
    return found


def keys_of(data: Data) -> list[str]:
    """Policies of a sweep, in the order of `LOOKS`."""
    return [key for key in LOOKS if f"{key}.throughput" in data]


def draw_line(data: Data, ax: Axes, key: str, name: str, *, scale: float = 1.0) -> None:
    """One measure of one policy, with its range over the runs."""
    draw_band(
        data,
        ax,
        f"{key}.{name}",
        LOOKS[key],
        scale=scale,
        markersize=6 if key == "new_first" else 3.5,
        fillstyle="none" if key == "new_first" else "full",  # it often hides behind another
        zorder=3 if key == "new_first" else 2,
        clip_on=False,
    )


def draw_sweep(
    data: Data, canvas: Canvas, *, x: str = "prompts/s", latency: str = "latency_mean"
) -> None:
    """Throughput, latency and evictions side by side, the legend below."""
    left, middle, right = canvas.subplots(1, 3)
    keys = keys_of(data)
    left.plot(
        data["x"],
        data[f"{keys[0]}.offered"] / 1e3,
        color=GREY,
        linewidth=0.8,
        linestyle=":",
        label="asked for",
    )
    for key in keys:
        draw_line(data, left, key, "throughput", scale=1e-3)
        draw_line(data, middle, key, latency)
    left.set(ylabel="1,000 output tokens/s of completed prompts", ylim=(0, None))
    _say_that_they_coincide(data, left, keys)
    name_axes(middle, y=f"{'mean' if latency.endswith('mean') else '99 % of'} latency, s", log="y")
    plain_numbers(middle, decades=3)
    _evictions_or_peak(data, right, keys)
    for ax in (left, middle, right):
        ax.set_xlabel(x)
        if data["x"].size <= 4:  # few enough to name them
            ax.set_xticks(data["x"], [f"{place:.0f}" for place in data["x"]])
    canvas.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=3)


def _say_that_they_coincide(data: Data, ax: Axes, keys: list[str]) -> None:
    """Where the lines of throughput lie on one another, how close they are."""
    there = np.stack([data[f"{key}.throughput"] for key in keys])
    apart = np.max(1 - np.nanmin(there, axis=0) / np.nanmax(there, axis=0))
    if apart < _COINCIDE:
        said = f"the lines coincide:\nat most {apart:.1%} apart"
        ax.annotate(said, (1, 0), (-4, 8), xycoords="axes fraction", ha="right", **SMALL_NOTE)


def _evictions_or_peak(data: Data, ax: Axes, keys: list[str]) -> None:
    """Evictions; where there are none at all, how much memory is used at most."""
    most = max(np.nanmax(data[f"{key}.evictions_high"]) for key in keys)
    for key in keys:
        draw_line(data, ax, key, "evictions" if most else "peak", scale=1 if most else 100)
    if not most:
        ax.set(ylabel="most tokens held, % of memory", ylim=(0, None))
        return
    ax.set_ylabel("evictions a prompt")
    count_scale(ax, most)


def count_scale(ax: Axes, most: float, least: float = 0.01) -> None:
    """Zero has a place: linear up to `least`, logarithmic above."""
    ax.set_yscale("symlog", linthresh=least)
    ax.set_ylim(0, max(10 * least, 2 * most))
    powers = [least * 10**k for k in range(9) if least * 10**k <= ax.get_ylim()[1]]
    ax.set_yticks([0, *powers], [f"{y:g}" for y in (0, *powers)], minor=False)
