"""What becomes of a disturbed equilibrium: requests in flight over time, one panel a kind of start.

The picture of `fluidkv.answers.study.simulation.Simulation`: some starts of each kind, and what
they evict.
"""

import re
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fluidkv import answers
from fluidkv.figures import wording
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, name_axes, zero_line

_COLORS = (BLUE, GREEN, PURPLE, ORANGE)
# A panel ends where the largest deviation of its group has sunk below this share of its peak:
# what follows would be a flat line.
_SETTLED = 0.01
_FEWEST_WINDOWS = 12  # shown at least, so that a quick decay is still seen as one
_FLATTEST = 1e-10  # relative, half height of a panel at least: rounding is below, not shown large


def starts_figure(result: "answers.study.result.StudyResult") -> Figure:
    """Requests in flight, relative to the equilibrium, from every start of the study."""
    simulation = result.simulation
    return Figure(
        id="perturbed_starts",
        title=wording.swing(result.stability),
        source="fluidkv study: the mass model from perturbed starts",
        parameters={"iterations": simulation.iterations, "seed": simulation.seed},
        size=(9.0, 1.6 + 1.25 * len(simulation.groups)),
        data=partial(_data, result),
        draw=partial(_draw, result),
        caption=partial(_caption, result),
    )


def _data(result: "answers.study.result.StudyResult") -> Data:
    """One column a start, and one a group for what it evicts; one row a window of iterations."""
    trajectories = result.simulation.trajectories
    columns = {"iteration": np.asarray(trajectories.iteration, dtype=np.float64)}
    for group in result.simulation.groups:
        rows = np.flatnonzero(trajectories.start.values == group.name)
        for k, row in enumerate(rows):
            columns[f"in_flight_{_slug(group)}_{k}"] = trajectories.in_flight.values[row]
        columns[f"evicted_{_slug(group)}"] = trajectories.evicted.values[rows].mean(axis=0)
    return columns


def _draw(result: "answers.study.result.StudyResult", data: Data, canvas: Canvas) -> None:
    groups = result.simulation.groups
    axes = canvas.subplots(len(groups) + 1, 1, sharex=True, squeeze=False)[:, 0]
    canvas.suptitle(wording.swing(result.stability), x=0.01, ha="left")
    axes[0].set_title(_summary(result), fontsize=9, color=GREY)
    n = data["iteration"]
    shown = n[: _windows_shown(data, groups)]
    for ax, group, color in zip(axes, groups, _COLORS, strict=False):
        _draw_group(ax, shown, _in_flight(data, group)[:, : len(shown)], color)
        ax.annotate(_group_words(group), (0, 1), (4, -3), **_NOTE, color=color)
    bottom = axes[-1]
    for group, color in zip(groups, _COLORS, strict=False):
        evicted = data[f"evicted_{_slug(group)}"][: len(shown)]
        bottom.plot(shown, evicted, color=color, linewidth=1.0)
    if not any(data[f"evicted_{_slug(g)}"][: len(shown)].any() for g in groups):
        bottom.annotate("nothing is evicted", (0, 1), (4, -3), **_NOTE, color=GREY)
        bottom.set_ylim(0, 1)
    name_axes(bottom, "iteration", "evicted")
    bottom.set_ylim(bottom=0)
    bottom.xaxis.set_major_formatter("{x:,g}")
    bottom.set_xlim(0, shown[-1])
    canvas.supylabel("requests in flight, % off the equilibrium", fontsize=9)


def _caption(result: "answers.study.result.StudyResult", data: Data) -> str:
    simulation = result.simulation
    every = int(simulation.trajectories.attrs["every"])
    shown = data["iteration"][_windows_shown(data, simulation.groups) - 1]
    words = [
        "Requests in flight from disturbed starts on the memory boundary and from an empty "
        "server, in the saturated mass model, in per cent off the equilibrium. "
        "One start of each kind in full colour, the others pale. Each panel has its own scale.",
        "Bottom: requests evicted, averaged over the starts of a kind, for each request that the "
        "equilibrium completes in the same time.",
        f"One point every {every} iterations." if every > 1 else "One point an iteration.",
    ]
    period = result.stability.leading_period
    if period is not None and every > 1 and period < 4 * every:
        words.append(
            f"The leading mode turns in {wording.iterations(period)}, faster than the points "
            "follow: between them the swings are not seen."
        )
    if shown < simulation.iterations:
        words.append(
            f"Shown up to iteration {shown:,.0f} of {simulation.iterations:,}, where all kinds "
            f"have settled to within {_SETTLED:.0%} of their largest deviation."
        )
    words.append("The verdict is certified; the trajectories are samples.")
    return " ".join(words)


_NOTE = {"xycoords": "axes fraction", "textcoords": "offset points", "fontsize": 8.5, "va": "top"}


def _draw_group(ax: Axes, n: NDArray[np.float64], starts: NDArray[np.float64], color: str) -> None:
    off = 100 * (starts - 1)
    zero_line(ax, 0)
    marker = "." if len(n) < 60 else ""
    for k, values in reversed(list(enumerate(off))):
        first = k == 0
        ax.plot(n, values, color=color, alpha=1 if first else 0.25, marker=marker, linewidth=1.0)
    low, high = min(float(off.min()), -100 * _FLATTEST), max(float(off.max()), 100 * _FLATTEST)
    margin = 0.08 * (high - low)
    # Room above for the words in the panel.
    ax.set_ylim(low - margin, high + margin + 0.35 * (high - low))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.locator_params(axis="y", nbins=4)


def _in_flight(data: Data, group: "answers.study.simulation.StartGroup") -> NDArray[np.float64]:
    names = [f"in_flight_{_slug(group)}_{k}" for k in range(group.starts)]
    return np.stack([data[name] for name in names])


def _windows_shown(data: Data, groups: "tuple[answers.study.simulation.StartGroup, ...]") -> int:
    """All windows, or those until every group has settled, and a third more."""
    last = 0
    for group in groups:
        off = np.abs(_in_flight(data, group) - 1).max(axis=0)
        last = max(last, int(np.flatnonzero(off >= _SETTLED * off.max()).max(initial=0)))
    return min(len(data["iteration"]), max(_FEWEST_WINDOWS, 4 * (last + 1) // 3))


def _summary(result: "answers.study.result.StudyResult") -> str:
    groups, horizon = result.simulation.groups, result.simulation.iterations
    evicting, starts = sum(g.evicting for g in groups), sum(g.starts for g in groups)
    low, high = min(g.throughput for g in groups), max(g.throughput for g in groups)
    share = f"{low:.0%}" if f"{low:.0%}" == f"{high:.0%}" else f"{low:.0%} to {high:.0%}"
    verb = "evicts" if evicting == 1 else "evict"
    return (
        f"{evicting} of {starts} simulated starts {verb} within {horizon:,} iterations; "
        f"throughput in the second half: {share} of the equilibrium's"
    )


def _group_words(group: "answers.study.simulation.StartGroup") -> str:
    starts = "1 start" if group.starts == 1 else f"{group.starts} starts"
    if group.evicting == 0:
        return f"{group.name}: {starts}, no eviction"
    some = "" if group.evicting == group.starts else f"{group.evicting} "
    when = "first" if group.starts == 1 else "the median one first"
    return f"{group.name}: {starts}, {some}evicting, {when} by iteration {group.first_eviction:,}"


def _slug(group: "answers.study.simulation.StartGroup") -> str:
    return re.sub(r"[^a-z0-9]+", "_", group.name.lower().replace("%", " percent")).strip("_")
