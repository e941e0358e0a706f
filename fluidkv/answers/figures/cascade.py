"""How equal requests fall into step: one disturbed start, stage after stage going empty.

The picture of `fluidkv.answers.study.result.StudyResult.collapses`, for the first start of the
first kind.
"""

from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fluidkv import answers
from fluidkv.exact.one_class.homogeneous import Homogeneous
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, NOTE, ORANGE, name_axes, zero_line

_AFTER = 1.25  # of the time to the worst case is shown
_ROUNDS_AFTER = 3  # and so many rounds of it at least
_DARKEST = 0.3  # opacity of the ground in the worst case


def cascade_figure(result: "answers.study.result.StudyResult", alike: Homogeneous) -> Figure:
    """Requests in flight, throughput and empty stages over time, from one disturbed start.

    Args:
        result: of a study whose requests all have the same lengths, of two tokens at least.
        alike: its brief.
    """
    data = partial(_data, result, alike)
    return Figure(
        id="cascade",
        title=_title(data()),
        source="fluidkv study: the mass model from perturbed starts",
        parameters={
            "iterations": result.simulation.iterations,
            "seed": result.simulation.seed,
            "start": result.simulation.groups[0].name,
        },
        size=(9.0, 5.6),
        data=data,
        draw=_draw,
        caption=partial(_caption, result, alike),
    )


def _data(result: "answers.study.result.StudyResult", alike: Homogeneous) -> Data:
    """One row a window of iterations; the number of an event is that of its window's end.

    `throughput` is a mean over the last `averaged` iterations, l1 in whole windows, or over all
    where there are fewer.
    """
    run = result.simulation.trajectories.isel(batch=0)
    every, l1 = int(run.attrs["every"]), alike.decode_length
    n = np.asarray(run.iteration, dtype=np.float64)
    empty = np.asarray(run.empty_stages, dtype=np.float64)
    evicting = n[run.evicted.values > 0]
    settled = n[empty == l1 - 1]
    last = n[-1] if not settled.size else _last_shown(settled[0], l1)
    shown = n <= last
    windows = max(1, round(l1 / every))
    completed = _mean_of_last(run.completed.values, windows)
    return {
        "iteration": n[shown],
        "in_flight": run.in_flight.values[shown],
        "throughput": completed[shown],
        "empty_stages": empty[shown],
        "first_eviction": evicting[0] if evicting.size else np.nan,
        "settled": settled[0] if settled.size else np.nan,
        "worst_case_ratio": float(alike.worst_case_ratio),
        "decode_length": float(l1),
        "every": float(every),
        "averaged": float(windows * every),
    }


def _last_shown(settled: float, stages: int) -> float:
    return max(_AFTER * settled, settled + _ROUNDS_AFTER * stages)


def _mean_of_last(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(sums))
    starts = np.maximum(ends - count, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def _draw(data: Data, canvas: Canvas) -> None:
    in_flight, throughput, empty = canvas.subplots(3, 1, sharex=True, height_ratios=[1.3, 1, 1])
    canvas.suptitle(_title(data), x=0.01, ha="left")
    n = data["iteration"]
    for ax in (in_flight, throughput, empty):
        _shade_phases(ax, data)
        first = data["first_eviction"]
        if first <= n[-1]:
            ax.axvline(first, color=ORANGE, linewidth=1.0)
    zero_line(in_flight, 100)
    in_flight.plot(n, 100 * data["in_flight"], color=BLUE, linewidth=0.8)
    in_flight.yaxis.set_major_formatter("{x:g}")
    in_flight.set_ylabel("in flight,\n% of equilibrium")
    if data["first_eviction"] <= n[-1]:
        in_flight.annotate(
            f"first eviction, {data['first_eviction']:,.0f} ",
            (data["first_eviction"], 1),
            (-3, -3),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="right",
            va="top",
            color=ORANGE,
            fontsize=8.5,
        )
    worst = 100 * data["worst_case_ratio"]
    zero_line(throughput, 100)
    throughput.axhline(worst, color=GREY, linewidth=0.8, linestyle="--")
    throughput.annotate(
        f"worst case, {worst:.1f} %", (0, worst), (4, 3), xycoords=("axes fraction", "data"), **NOTE
    )
    throughput.plot(n, 100 * data["throughput"], color=BLUE)
    throughput.set_ylabel("throughput,\n% of equilibrium")
    empty.step(n, data["empty_stages"], where="post", color=BLUE)
    top = data["decode_length"] - 1
    empty.set_ylim(-0.05 * top, 1.1 * top)
    empty.locator_params(axis="y", integer=True, nbins=5)
    name_axes(empty, "iteration", f"empty stages,\nof {top + 1:,.0f}")
    empty.xaxis.set_major_formatter("{x:,g}")
    empty.set_xlim(0, n[-1])


def _shade_phases(ax: Axes, data: Data) -> None:
    """The ground of each phase, from one loss of support to the next: darker with each level."""
    n, empty = data["iteration"], data["empty_stages"]
    losses = np.flatnonzero(np.diff(empty) > 0) + 1
    darkest = _DARKEST / (data["decode_length"] - 1)
    for first, end in pairwise([*losses, len(n) - 1]):
        shade = darkest * float(empty[first])
        ax.axvspan(n[first], n[end], color=GREY, alpha=shade, linewidth=0)


def _title(data: Data) -> str:
    first, settled = data["first_eviction"], data["settled"]
    if np.isfinite(settled):
        lost = 100 * (1 - data["worst_case_ratio"])
        return (
            f"Equal requests fall into step within {settled:,.0f} iterations and lose "
            f"{lost:.0f} % of throughput"
        )
    if np.isfinite(first):
        top = data["empty_stages"][-1]
        return (
            f"Evictions begin by iteration {first:,.0f}; {top:,.0f} of "
            f"{data['decode_length']:,.0f} stages are empty at the end"
        )
    return f"No eviction yet in {data['iteration'][-1]:,.0f} iterations: the swing grows"


def _caption(result: "answers.study.result.StudyResult", alike: Homogeneous, data: Data) -> str:
    every = data["every"]
    words = [
        f"One disturbed start ({result.simulation.groups[0].name}) of requests that all have "
        f"{alike.input_length:,} input and {alike.decode_length:,} output tokens, in the saturated "
        "mass model. Requests in flight and throughput in per cent of the eviction-free "
        "equilibrium; throughput over the last "
        f"{data['averaged']:,.0f} iterations. What is empty stays empty as the requests "
        "move up, stage by stage; the ground is darker the more stages are.",
        f"The worst case, where all requests share one stage, completes "
        f"{data['worst_case_ratio']:.1%} of the equilibrium.",
    ]
    if every > 1:
        words.append(
            f"One point every {every:,.0f} iterations, at the end of a window; events are given "
            "by it."
        )
    words.append("One sample; where almost every start ends is Theorem 2 of Congestion.")
    return " ".join(words)
