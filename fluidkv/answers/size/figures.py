"""What the SLOs bound, against memory, rate or replicas: the answer, the cliff, today, the log."""

from functools import partial
from typing import Any

import numpy as np

from fluidkv.answers.size.result import SizeAnswer
from fluidkv.answers.size.sizes import Size
from fluidkv.answers.size.words import per, unit_of
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, name_axes

_MOST = 4  # panels


def size_figure(answer: SizeAnswer) -> Figure:
    """A panel for each bounded metric and one for preemptions, every size tried a point."""
    plan, metrics = answer.plan, _metrics(answer)
    title = f"{plan.engine.rules.label}: {_answer_text(answer)}"
    return Figure(
        id="size",
        title=title,
        source="fluidkv size",
        parameters={
            "find": plan.axis.find,
            "engine": plan.engine.rules.label,
            "slos": {slo.metric: slo.bound for slo in plan.slos},
            "requests": plan.size,
            "runs": answer.runs,
            "sizes": len(answer.along),
        },
        size=(3.4 * (len(metrics) + 1), 3.6),
        data=partial(_data, answer),
        draw=partial(_draw, title=title, metrics=metrics, answer=answer),
        caption=partial(_caption, answer),
    )


def _metrics(answer: SizeAnswer) -> list[str]:
    """What is bounded, the tail first."""
    names = [answer.tail, *(slo.metric for slo in answer.plan.slos)]
    return list(dict.fromkeys(names))[: _MOST - 1]


def _answer_text(answer: SizeAnswer) -> str:
    at = answer.plan.value(answer.answer)
    if answer.plan.axis.find == "kv":
        return f"{at:,} KV tokens are the smallest pool that meets the SLOs"
    if answer.plan.axis.find == "rate":
        return f"{at:,.4g} requests {per(answer)} are the highest rate that meets the SLOs"
    return f"the fewest replicas that meet the SLOs: {at:,.4g}"


def _data(answer: SizeAnswer) -> Data:
    plan, sizes, against = answer.plan, list(answer.along), answer.against

    def place(size: Size | None) -> float:
        return np.nan if size is None else float(plan.value(size))

    # The log is a point of this picture only where its arrivals are those that were run.
    logged = plan.own_rate is not None and abs(plan.rate / plan.own_rate - 1) < 1e-9
    data: dict[str, object] = {
        "at": np.array([place(size) for size in sizes]),
        "met": np.array([float(answer.meets(size)) for size in sizes]),
        "load": np.array([plan.load(size) for size in sizes]),
        "preemptions": np.array([answer.mean(size, "preemptions") for size in sizes]),
        "answer": place(answer.answer),
        "today": place(answer.today),
        "cliff": place(answer.cliff.worse),
        "against": place(against.edge.answer if against and against.edge else None),
        "measured_at": place(answer.today if logged else None),
    }
    for name in _metrics(answer):
        data[name] = np.array([answer.worst(size, name) for size in sizes])
        data[f"{name}_measured"] = answer.bias[name].measured if name in answer.bias else np.nan
    return data


def _draw(
    data: Data, canvas: Canvas, *, title: str, metrics: list[str], answer: SizeAnswer
) -> None:
    panels = np.atleast_1d(canvas.subplots(1, len(metrics) + 1))
    bounds = {slo.metric: slo.bound for slo in answer.plan.slos}
    axis = {"kv": "KV pool of a replica, tokens", "rate": f"arrivals {per(answer)}"}
    axis_name = axis.get(answer.plan.axis.find, "replicas")
    for ax, name in zip(panels, metrics, strict=False):
        _points(ax, data, name)
        if name in bounds:
            ax.axhline(bounds[name], color=ORANGE, lw=0.9, ls="--", label="SLO")
        if np.isfinite(data["measured_at"]) and np.isfinite(data[f"{name}_measured"]):
            where = data["measured_at"], data[f"{name}_measured"]
            ax.scatter(*where, marker="X", s=70, color=BLACK, label="measured", zorder=5)
        ax.set_yscale("log")
        name_axes(ax, axis_name, f"{name}, worst run{_unit(answer, name)}")
    _points(panels[-1], data, "preemptions")
    panels[-1].set_yscale("symlog", linthresh=1)
    name_axes(panels[-1], axis_name, "preemptions in a run")
    handles: dict[str, Any] = {}
    for ax in panels:
        ax.set_xscale("log")
        _lines(ax, data)
        ax.set_xlim(*_range(data))
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    columns = min(len(handles), 4)
    canvas.legend(handles.values(), handles, loc="outside lower center", ncols=columns)
    canvas.suptitle(title)


def _points(ax: Axes, data: Data, name: str) -> None:
    met = data["met"].astype(bool)
    ax.plot(data["at"], data[name], color=GREY, lw=0.7, zorder=1)
    for here, face, label in ((met, BLUE, "meets the SLOs"), (~met, "white", "misses one")):
        look = {"s": 18, "facecolor": face, "edgecolor": BLUE, "zorder": 2}
        ax.scatter(data["at"][here], data[name][here], label=label if here.any() else None, **look)


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


def _unit(answer: SizeAnswer, metric: str) -> str:
    if unit_of(answer, metric):
        return ", s"
    timed = metric.startswith(("ttft", "tpot", "latency", "longest_gap"))
    return ", iterations" * timed


def _caption(answer: SizeAnswer, data: Data) -> str:
    cliff, runs = answer.cliff, "run" if answer.runs == 1 else "runs"
    text = (
        f"{data['at'].size} sizes, the same {answer.plan.size:,} requests at each, {answer.runs} "
        f"{runs}; of several runs the worst. Filled: every SLO is met."
    )
    if cliff.times is not None:
        text += (
            f" The orange band ends where {answer.tail} is {cliff.times:.2g} times the answer's."
        )
    text += " Sampled, not proved."
    logged = " The cross is what the log says of today's server." if answer.bias else ""
    return text + logged
