"""The settings that a recommendation tried: throughput against preemptions and against the tail."""

from functools import partial

import numpy as np

from fluidkv.answers.recommend.result import Recommendation
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


def frontier_figure(answer: Recommendation) -> Figure:
    """Every setting a point, the pick ringed, today a star; means over runs, ranges as bars."""
    title, plan = _title(answer), answer.plan
    unit, tail = plan.clock.unit, answer.tails[0]
    return Figure(
        id="frontier",
        title=title,
        source="fluidkv recommend",
        parameters={
            "engine": answer.label,
            "capacity": plan.limits.capacity,
            "demand": plan.demand.kind,
            "settings": len(answer.settings),
            "runs": answer.runs,
            "requests": plan.size,
        },
        size=(9.0, 4.2),
        data=partial(_data, answer),
        draw=partial(_draw, title=f"{title}\n{_load(answer)}", unit=unit, tail=tail),
        caption=partial(_caption, answer),
    )


def _title(answer: Recommendation) -> str:
    index = answer.choice.index
    if answer.plan.short:
        return f"{answer.label}: runs too short for a pick"
    if index is None:
        return f"{answer.label}: no setting meets what is asked"
    if answer.left:
        return f"{answer.label}: leave it; no gain exceeds what the simulation misses"
    if index == 0:
        return f"{answer.label}: nothing to change"
    gain = answer.gain(index, answer.throughput)
    speed = f"{gain:+.1%}" if np.isfinite(gain) else "from 0"
    now, then = (answer.mean(i, "preemptions") for i in (0, index))
    return f"{answer.label}: preemptions {now:,.4g} to {then:,.4g}, throughput {speed}"


def _data(answer: Recommendation) -> Data:
    speeds = answer.table[answer.throughput].values
    index = answer.choice.index
    measured = {
        name: answer.bias[metric].measured if metric in answer.bias else float("nan")
        for name, metric in (("throughput", answer.throughput), ("tail", answer.tails[0]))
    }
    return {
        "preemptions": answer.table["preemptions"].values.mean(axis=1),
        "throughput": speeds.mean(axis=1),
        "throughput_low": speeds.min(axis=1),
        "throughput_high": speeds.max(axis=1),
        "tail": answer.table[answer.tails[0]].values.mean(axis=1),
        "kind": np.array([_kind(answer, i) for i in range(len(answer.settings))], float),
        "frontier": np.array(answer.frontier, float),
        "pick": float("nan") if index is None else float(index),
        "measured_throughput": measured["throughput"],
        "measured_tail": measured["tail"],
    }


def _load(answer: Recommendation) -> str:
    """What was asked about, for the second line of the title."""
    demand, equilibrium = answer.plan.demand, answer.plan.equilibrium
    unit = "a second" if answer.plan.clock.unit == "s" else "an iteration"
    arrivals = {
        "saturated": "all waiting from the start",
        "rate": f"{demand.rate or 0:g} arrivals {unit}",
        "clients": f"{demand.clients} clients",
        "replay": f"a trace at {demand.speed:g} times its speed",
    }[demand.kind]
    # Requests in flight over their rate: what one of them runs, by Little's law.
    output = float(equilibrium.in_flight / equilibrium.rate)
    return (
        f"{arrivals}, {output:,.4g} output tokens a request in the mean; "
        f"capacity {answer.plan.limits.capacity:,} tokens"
    )


def _kind(answer: Recommendation, index: int) -> int:
    """Of a setting: the knob that is turned, as a number."""
    changed = answer.settings[index].changed(answer.settings[0])
    if not changed:
        return _AS_NOW
    return KNOBS.index(changed[0]) if len(changed) == 1 else _PAIR


def _draw(data: Data, canvas: Canvas, *, title: str, unit: str, tail: str) -> None:
    left, right = canvas.subplots(1, 2, sharey=True)
    speed = "output tokens a second" if unit == "s" else "output tokens an iteration"
    _points(left, data, "preemptions")
    left.set_xscale("symlog", linthresh=1, linscale=0.4)  # none at all has its place
    name_axes(left, "preemptions in a run", speed)
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


def _around(low: float, high: float) -> tuple[float, float]:
    """Limits of an axis with a margin."""
    margin = 0.05 * (high - low) or 1.0
    return low - margin, high + margin


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
    if not np.isnan(data["pick"]):
        ring, hollow = int(data["pick"]), {"facecolor": "none", "edgecolor": BLACK, "zorder": 4}
        ax.scatter(x[ring], y[ring], s=130, label="pick", **hollow)


def _caption(answer: Recommendation, data: Data) -> str:
    return (
        f"{data['throughput'].size} settings of {answer.label}, the same requests in each: means "
        f"over {answer.runs} runs of {answer.plan.size:,} requests, bars from the lowest "
        "to the highest run. Filled: no other setting beats it in throughput, preemptions and "
        "tails together; hollow: one does. Settings below half of the best "
        "throughput are left out, but for today's. Sampled, not proved."
        + (" The cross is what the log says of today's setting." if answer.bias else "")
    )
