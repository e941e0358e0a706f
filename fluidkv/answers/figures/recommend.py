"""The settings that a recommendation tried: throughput against preemptions and against the tail."""

from functools import partial

import numpy as np

from fluidkv import answers
from fluidkv.answers.served.setting import KNOBS
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, name_axes

_LOOKS = {  # what is turned -> how it is drawn, in the order of `KNOBS`; pairs come last
    "watermark": ("watermark", BLUE, "o"),
    "max_num_seqs": ("max_num_seqs", ORANGE, "s"),
    "admission_rate": ("rate cap", GREEN, "^"),
    "clients": ("clients", PURPLE, "D"),
    "conservativeness": ("conservativeness", SKY, "v"),
    "pair": ("two of them", GREY, "o"),
}
_TAILS = {
    "ttft_p99": "p99 time to first token",
    "latency_p99": "p99 latency",
    "longest_gap_p99": "p99 longest gap between two tokens",
}
_AS_NOW, _PAIR = -1, len(KNOBS)
_LEAST = 0.5  # of the best throughput: slower settings would squeeze all others into a corner


def recommend_frontier(found: "answers.Recommendation") -> Figure:
    """Every setting a point, the pick ringed, today a star; means over runs, ranges as bars."""
    title = _title(found)
    unit = found.plan.clock.unit
    return Figure(
        id="frontier",
        title=title,
        source="fluidkv recommend",
        parameters={
            "engine": found.label,
            "capacity": found.plan.limits.capacity,
            "demand": found.plan.demand.kind,
            "settings": len(found.settings),
            "runs": found.runs,
            "requests": found.requests,
        },
        size=(9.0, 4.2),
        data=partial(_data, found),
        draw=partial(_draw, title=f"{title}\n{_setting(found)}", unit=unit, tail=found.tails[0]),
        caption=partial(_caption, found),
    )


def _title(found: "answers.Recommendation") -> str:
    taken = found.choice.index
    if found.all_start:
        return f"{found.label}: runs too short for a pick"
    if taken is None:
        return f"{found.label}: no setting meets what is asked"
    if found.left:
        return f"{found.label}: leave it; no gain exceeds what the simulation misses"
    if taken == 0:
        return f"{found.label}: nothing to change"
    gain = found.gain(taken, found.throughput)
    speed = f"{gain:+.1%}" if np.isfinite(gain) else "from 0"
    now, then = (found.mean(index, "preemptions") for index in (0, taken))
    return f"{found.label}: preemptions {now:,.4g} to {then:,.4g}, throughput {speed}"


def _data(found: "answers.Recommendation") -> Data:
    speeds = found.table[found.throughput].values
    taken = found.choice.index
    return {
        "preemptions": found.table["preemptions"].values.mean(axis=1),
        "throughput": speeds.mean(axis=1),
        "throughput_low": speeds.min(axis=1),
        "throughput_high": speeds.max(axis=1),
        "tail": found.table[found.tails[0]].values.mean(axis=1),
        "kind": np.array([_kind(found, index) for index in range(len(found.settings))], float),
        "frontier": np.array(found.frontier, float),
        "pick": float("nan") if taken is None else float(taken),
        "measured_throughput": _measured(found, found.throughput),
        "measured_tail": _measured(found, found.tails[0]),
    }


def _measured(found: "answers.Recommendation", metric: str) -> float:
    """What the log says of the server as it is; NaN without a log."""
    return found.bias[metric].measured if metric in found.bias else float("nan")


def _around(low: float, high: float) -> tuple[float, float]:
    """Limits of an axis with a margin."""
    margin = 0.05 * (high - low) or 1.0
    return low - margin, high + margin


def _setting(found: "answers.Recommendation") -> str:
    """What was asked about, for the second line of the title."""
    demand = found.plan.demand
    each = "a second" if found.plan.clock.unit == "s" else "an iteration"
    asked = {
        "saturated": "all waiting from the start",
        "rate": f"{demand.rate or 0:g} arrivals {each}",
        "clients": f"{demand.clients} clients",
        "replay": f"a trace at {demand.speed:g} times its speed",
    }[demand.kind]
    # Requests in flight over their rate: what one of them runs, by Little's law.
    output = float(found.plan.equilibrium.in_flight / found.plan.equilibrium.rate)
    return (
        f"{asked}, {output:,.4g} output tokens a request in the mean; "
        f"capacity {found.plan.limits.capacity:,} tokens"
    )


def _kind(found: "answers.Recommendation", index: int) -> int:
    changed = found.settings[index].changed(found.settings[0])
    if not changed:
        return _AS_NOW
    first, *others = changed
    return _PAIR if others else KNOBS.index(first)


def _draw(data: Data, canvas: Canvas, *, title: str, unit: str, tail: str) -> None:
    left, right = canvas.subplots(1, 2, sharey=True)
    each = "second" if unit == "s" else "iteration"
    _points(left, data, "preemptions")
    left.set_xscale("symlog", linthresh=1, linscale=0.4)  # none at all has its place
    name_axes(
        left, "preemptions in a run", f"output tokens a{'n' if each == 'iteration' else ''} {each}"
    )
    left.set_xlim(left=-0.3)
    _points(right, data, "tail")
    right.set_xlabel(f"{_TAILS[tail]}, {'s' if unit == 's' else 'iterations'}")
    right.scatter(
        data["measured_tail"],
        data["measured_throughput"],
        s=70,
        marker="X",
        color=BLACK,
        label="measured" if np.isfinite(data["measured_throughput"]) else None,
        zorder=5,
    )
    handles, labels = right.get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    canvas.suptitle(title)
    left.set_title("filled: on the frontier; hollow: another setting beats it", fontsize=7.5)
    shown = _shown(data)
    if not shown.all():
        low = data["throughput_low"][shown].min()
        left.set_ylim(_around(low, data["throughput_high"].max()))
        tails = data["tail"][shown & np.isfinite(data["tail"])]
        if tails.size:  # a server that serves nobody has none
            right.set_xlim(_around(tails.min(), tails.max()))
        hidden = int((~shown).sum())
        right.set_title(f"{hidden} below half of the best throughput not shown", fontsize=7.5)


def _shown(data: Data) -> np.ndarray:
    """Settings that are not far slower than the best; today's and the pick in any case."""
    speed = data["throughput"]
    index, pick = np.arange(speed.size), data["pick"]
    return (speed >= _LEAST * speed.max()) | (data["kind"] == _AS_NOW) | (index == pick)


def _points(ax: Axes, data: Data, against: str) -> None:
    x, y, kind = data[against], data["throughput"], data["kind"]
    low, high = y - data["throughput_low"], data["throughput_high"] - y
    ax.errorbar(x, y, yerr=(low, high), fmt="none", ecolor=GREY, elinewidth=0.6, alpha=0.5)
    on_frontier = np.isin(np.arange(x.size), data["frontier"])
    for code, (label, colour, marker) in enumerate(_LOOKS.values()):
        for chosen, face in ((on_frontier, colour), (~on_frontier, "white")):
            here = (kind == code) & chosen
            ax.scatter(x[here], y[here], s=22, marker=marker, facecolor=face, edgecolor=colour)
        if (kind == code).any():  # the legend shows a filled one, whichever there are
            ax.scatter([], [], s=22, marker=marker, color=colour, label=label)
    now = kind == _AS_NOW
    ax.scatter(x[now], y[now], s=90, marker="*", color=BLACK, label="as it is now", zorder=3)
    pick = data["pick"]
    if not np.isnan(pick):
        ring = int(pick)
        ax.scatter(
            x[ring], y[ring], s=130, facecolor="none", edgecolor=BLACK, label="pick", zorder=4
        )


def _caption(found: "answers.Recommendation", data: Data) -> str:
    return (
        f"{data['throughput'].size} settings of {found.label}, the same requests in "
        f"each: means over {found.runs} runs of {found.requests:,} requests, bars from the lowest "
        "to the highest run. Filled: no other setting beats it in throughput, preemptions and "
        "tails together; hollow: one does. Settings below half of the best "
        "throughput are left out, but for today's. Sampled, not proved."
        + (" The cross is what the log says of today's setting." if found.bias else "")
    )
