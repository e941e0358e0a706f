"""The figures of `fluidkv route`: every router, and how much affinity."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from fluidkv.answers.route.result import RouteAnswer, Routing
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREY, ORANGE, name_axes

_PANELS = (
    ("latency_p50", "median latency, s"),
    ("latency_p95", "95th percentile, s"),
    ("hit_rate", "prompt tokens found, %"),
    ("most_to_mean", "busiest worker / mean"),
)


def route_figures(answer: RouteAnswer) -> tuple[Figure, ...]:
    """`routers`; `affinity` where weights were tried."""
    figures = [_routers_figure(answer)]
    if answer.sweep:
        figures.append(affinity_figure(answer))
    return tuple(figures)


def _routers_figure(answer: RouteAnswer) -> Figure:
    return Figure(
        id="routers",
        title=f"{answer.source}: latency, hits and balance by router",
        source="fluidkv route",
        parameters=_parameters(answer),
        size=(8.5, 0.9 + 0.28 * len(answer.routers)),
        data=partial(_routers_data, answer),
        draw=partial(_routers_draw, [each.name for each in answer.routers]),
        caption=partial(_routers_caption, answer),
    )


def _parameters(answer: RouteAnswer) -> dict[str, object]:
    return {
        "source": answer.source,
        "workers": answer.workers,
        "capacity": answer.capacity,
        "policy": answer.policy,
        "engine": answer.engine,
        "belief": answer.belief["of"],
        "seeds": len(answer.seeds),
    }


def _routers_data(answer: RouteAnswer) -> Data:
    data: dict[str, Any] = {"router": [], **{measure: [] for measure, _ in _PANELS}}
    for place, each in enumerate(answer.routers):
        data["router"] += [place] * each.seeds
        for measure, _ in _PANELS:
            data[measure] += each.values[measure].tolist()
    found = {name: np.array(values, float) for name, values in data.items()}
    return found | {"bound.hit_rate": answer.bounds.hit_rate if answer.bounds else np.nan}


def _routers_draw(names: Sequence[str], data: Data, canvas: Canvas) -> None:
    axes = canvas.subplots(1, len(_PANELS), sharey=True)
    for ax, (measure, label) in zip(axes, _PANELS, strict=True):
        factor = 100 if measure == "hit_rate" else 1
        for place, name in enumerate(names):
            values = factor * data[measure][data["router"] == place]
            colour = GREY if name == "offline" else BLUE
            ax.scatter(values, np.full(values.size, place), s=18, color=colour, alpha=0.8)
            ax.plot([values.mean()], [place], marker="|", markersize=11, color=BLACK)
        name_axes(ax, label, log="x" if measure.startswith("latency") else "")
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.5, -0.5)
    bound = 100 * data["bound.hit_rate"]
    if np.isfinite(bound):
        axes[2].axvline(bound, color=GREY, linewidth=0.8, linestyle="--")


def _routers_caption(answer: RouteAnswer, data: Data) -> str:
    most = data["bound.hit_rate"]
    bound = f" Dashed: no router finds more than {100 * most:.1f} %." if np.isfinite(most) else ""
    return (
        f"{answer.requests:,} requests on {answer.workers} workers; a dot for "
        f"each of at most {len(answer.seeds)} seeds, a bar at their mean.{bound} Simulated."
    )


# --- affinity -------------------------------------------------------------------------------------


def affinity_figure(answer: RouteAnswer) -> Figure:
    """What weight of affinity finds, and what it costs in balance and latency."""
    return Figure(
        id="affinity",
        title=f"{answer.source}: affinity against balance",
        source="fluidkv route --affinity: the linear score, load with weight 1",
        parameters=_parameters(answer),
        size=(8.5, 3.2),
        data=partial(affinity_data, answer.sweep),
        draw=draw_affinity,
        caption=_affinity_caption,
    )


def affinity_data(sweep: Sequence[Routing]) -> Data:
    """Weights, and of each measure its mean over seeds and the margin."""
    data: dict[str, Any] = {
        "weight": np.array([getattr(each.router, "affinity", np.nan) for each in sweep])
    }
    for measure in ("hit_rate", "most_to_mean", "latency_p50", "latency_p95"):
        data[measure] = np.array([each.mean(measure) for each in sweep])
        data[f"{measure}.margin"] = np.array([each.margin(measure) for each in sweep])
    return data


def draw_affinity(data: Data, canvas: Canvas) -> None:
    """Hits, balance and latency over the weight of affinity."""
    finds, even, waits = canvas.subplots(1, 3)
    _line(finds, data, "hit_rate", BLUE, "", factor=100)
    _line(even, data, "most_to_mean", BLUE, "")
    _line(waits, data, "latency_p50", BLUE, "median")
    _line(waits, data, "latency_p95", ORANGE, "95th percentile")
    waits.set_yscale("log")
    waits.legend()
    for ax, label in (
        (finds, "prompt tokens found, %"),
        (even, "busiest worker / mean"),
        (waits, "latency, s"),
    ):
        places = np.arange(data["weight"].size)
        ax.set_xticks(places, [f"{weight:g}" for weight in data["weight"]], fontsize=7)
        name_axes(ax, "weight of affinity", label)
    finds.set_ylim(bottom=0)
    best = int(data["latency_p95"].argmin())
    waits.axvline(best, color=GREY, linewidth=0.8, linestyle="--")


def _line(
    ax: Axes, data: Data, measure: str, colour: str, label: str, *, factor: float = 1
) -> None:
    y, margin = factor * data[measure], factor * data[f"{measure}.margin"]
    x = np.arange(y.size)
    ax.plot(x, y, color=colour, marker="o", markersize=3.5, label=label)
    if margin.any():
        least = {"hit_rate": 0.0, "most_to_mean": 1.0}.get(measure)
        low = np.maximum(y - margin, y / 10 if least is None else least)
        ax.fill_between(x, low, y + margin, color=colour, alpha=0.2, linewidth=0)


def _affinity_caption(data: Data) -> str:
    weights, hits, uneven = data["weight"], data["hit_rate"], data["most_to_mean"]
    p50, p95 = data["latency_p50"], data["latency_p95"]
    at50, at95 = int(p50.argmin()), int(p95.argmin())
    return (
        f"From weight {weights[0]:g} to {weights[-1]:g}, {100 * hits[0]:.1f} to "
        f"{100 * hits[-1]:.1f} % of prompt tokens are found, and the busiest worker has "
        f"{uneven[0]:.2f} to {uneven[-1]:.2f} times the mean work. The median latency is least at "
        f"{weights[at50]:g} ({p50[at50]:.3g} s), the 95th percentile at {weights[at95]:g} "
        f"({p95[at95]:.3g} s, dashed). Bands: 95 % for the mean over seeds. Simulated."
    )
