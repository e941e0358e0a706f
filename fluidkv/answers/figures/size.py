"""What the SLOs bound, against memory, rate or replicas: the answer, the cliff, today, the log."""

from functools import partial

import numpy as np

from fluidkv import answers
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, name_axes

_FOUND = {
    "kv": "KV pool of a replica, tokens",
    "rate": "arrivals",
    "replicas": "replicas",
}
_MOST = 4  # panels


def size_figure(found: "answers.SizeAnswer") -> Figure:
    """A panel for each bounded metric and one for preemptions, every size tried a point."""
    metrics = _metrics(found)
    title = _title(found)
    return Figure(
        id="size",
        title=title,
        source="fluidkv size",
        parameters={
            "find": found.plan.axis.find,
            "engine": found.plan.rules.label,
            "slos": {slo.metric: slo.bound for slo in found.plan.slos},
            "requests": len(found.plan.tables[0]),
            "runs": found.runs,
            "sizes": len(found.along),
        },
        size=(3.4 * (len(metrics) + 1), 3.6),
        data=partial(_data, found),
        draw=partial(_draw, title=title, metrics=metrics, found=found),
        caption=partial(_caption, found),
    )


def _metrics(found: "answers.SizeAnswer") -> list[str]:
    """What is bounded, the tail first."""
    names = [found.tail, *(slo.metric for slo in found.plan.slos)]
    return list(dict.fromkeys(names))[: _MOST - 1]


def _place(found: "answers.SizeAnswer", size: "answers.Size") -> float:
    find = found.plan.axis.find
    if find == "kv":
        return float(found.tokens(size))
    return found.rate(size) if find == "rate" else float(size.replicas)


def _title(found: "answers.SizeAnswer") -> str:
    at = f"{_place(found, found.answer):,.4g}"
    each = "a second" if found.plan.clock.unit == "s" else "an iteration"
    what = {
        "kv": f"{found.tokens(found.answer):,} KV tokens are the smallest pool that meets the SLOs",
        "rate": f"{at} requests {each} are the highest rate that meets the SLOs",
        "replicas": f"the fewest replicas that meet the SLOs: {at}",
    }[found.plan.axis.find]
    return f"{found.plan.rules.label}: {what}"


def _data(found: "answers.SizeAnswer") -> Data:
    sizes = list(found.along)
    data: dict[str, object] = {
        "at": np.array([_place(found, size) for size in sizes]),
        "met": np.array([float(found.meets(size)) for size in sizes]),
        "load": np.array([found.plan.load(size) for size in sizes]),
        "preemptions": np.array([found.mean(size, "preemptions") for size in sizes]),
        "answer": _place(found, found.answer),
        "today": np.nan if found.today is None else _place(found, found.today),
        "cliff": np.nan if found.cliff.worse is None else _place(found, found.cliff.worse),
        "against": np.nan,
        "measured_at": np.nan,
    }
    if found.against is not None and found.against.edge is not None:
        data["against"] = _place(found, found.against.edge.answer)
    # The log is a point of this picture only where its arrivals are those that were run.
    own = found.plan.own_rate
    if own is not None and abs(found.plan.rate / own - 1) < 1e-9 and found.today is not None:
        data["measured_at"] = _place(found, found.today)
    for name in _metrics(found):
        data[name] = np.array([found.worst(size, name) for size in sizes])
        data[f"{name}_measured"] = found.bias[name].measured if name in found.bias else np.nan
    return data


def _draw(
    data: Data, canvas: Canvas, *, title: str, metrics: list[str], found: "answers.SizeAnswer"
) -> None:
    panels = np.atleast_1d(canvas.subplots(1, len(metrics) + 1))
    bounds = {slo.metric: slo.bound for slo in found.plan.slos}
    for ax, name in zip(panels, metrics, strict=False):
        _points(ax, data, name)
        if name in bounds:
            ax.axhline(bounds[name], color=ORANGE, lw=0.9, ls="--", label="SLO")
        if np.isfinite(data["measured_at"]) and np.isfinite(data[f"{name}_measured"]):
            where = data["measured_at"], data[f"{name}_measured"]
            ax.scatter(*where, marker="X", s=70, color=BLACK, label="measured", zorder=5)
        ax.set_yscale("log")
        name_axes(ax, _axis(found), f"{name}, worst run{_unit(found, name)}")
    _points(panels[-1], data, "preemptions")
    panels[-1].set_yscale("symlog", linthresh=1)
    name_axes(panels[-1], _axis(found), "preemptions in a run")
    handles, labels = [], []
    for ax in panels:
        ax.set_xscale("log")
        _lines(ax, data)
        ax.set_xlim(*_range(data))
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            if label not in labels:
                handles.append(handle)
                labels.append(label)
    canvas.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4))
    canvas.suptitle(title)


def _points(ax: Axes, data: Data, name: str) -> None:
    met = data["met"].astype(bool)
    ax.plot(data["at"], data[name], color=GREY, lw=0.7, zorder=1)
    for here, face, label in ((met, BLUE, "meets the SLOs"), (~met, "white", "misses one")):
        ax.scatter(
            data["at"][here],
            data[name][here],
            s=18,
            facecolor=face,
            edgecolor=BLUE,
            label=label if here.any() else None,
            zorder=2,
        )


def _lines(ax: Axes, data: Data) -> None:
    for name, colour, label in (
        ("answer", GREEN, "answer"),
        ("against", PURPLE, "with the simulation's error"),
        ("today", BLACK, "today"),
    ):
        if np.isfinite(data[name]):
            ax.axvline(data[name], color=colour, lw=1.1, label=label, zorder=0)
    if np.isfinite(data["cliff"]):
        ends = sorted((data["cliff"], data["answer"]))
        ax.axvspan(*ends, color=ORANGE, alpha=0.12, label="to the cliff", zorder=0)


def _range(data: Data) -> tuple[float, float]:
    """Around the answer and today: memory for all requests is far to the right."""
    there = [data[name] for name in ("answer", "today", "cliff") if np.isfinite(data[name])]
    low, high = data["at"].min(), data["at"].max()
    return max(0.9 * low, min(there) / 6), min(1.1 * high, 3 * max(there))


def _axis(found: "answers.SizeAnswer") -> str:
    label = _FOUND[found.plan.axis.find]
    if found.plan.axis.find == "rate":
        label += " a second" if found.plan.clock.unit == "s" else " an iteration"
    return label


def _unit(found: "answers.SizeAnswer", metric: str) -> str:
    timed = metric.startswith(("ttft", "tpot", "latency", "longest_gap"))
    if not timed:
        return ""
    return ", s" if found.plan.clock.unit == "s" else ", iterations"


def _caption(found: "answers.SizeAnswer", data: Data) -> str:
    beyond = (
        f" The orange band ends where {found.tail} is {found.cliff.times:.2g} times the answer's."
        if found.cliff.times is not None
        else ""
    )
    return (
        f"{data['at'].size} sizes, the same {len(found.plan.tables[0]):,} requests at each, "
        f"{found.runs} {'run' if found.runs == 1 else 'runs'}; of several runs the worst. Filled: "
        f"every SLO is met.{beyond} Sampled, not proved."
        + (" The cross is what the log says of today's server." if found.bias else "")
    )
