"""Figure 2: four workloads, six methods."""

from collections.abc import Mapping, Sequence

import numpy as np

from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import PALE, name_axes
from fluidkv_papers.bands import listed, plain_numbers, ratio
from fluidkv_papers.routing.figures import sweeps
from fluidkv_papers.routing.figures.sweeps import LOOKS, names_of
from fluidkv_papers.routing.instances import setting as served

SEEDS = sweeps.SEEDS
WORKLOADS: dict[str, served.Setting] = {
    "generated\nprefixes": served.half(),
    "conver-\nsations": served.half_chats(),
    "documents": served.half_documents(),
    "documents,\n6 requests/s": served.half_documents(rate=6),
}
_TITLES = {
    "latency_p50": "median latency, s",
    "latency_p95": "P95 latency, s",
    "hit_rate": "hit rate, % of prompt tokens",
    "throughput": "requests/s",
}


def data(workloads: Mapping[str, served.Setting] = WORKLOADS, seeds: Sequence[int] = SEEDS) -> Data:
    """As `sweeps.sweep`; "x" counts the workloads."""
    return sweeps.sweep(list(enumerate(workloads.values())), seeds=seeds)


def draw(data: Data, canvas: Canvas) -> None:
    axes = canvas.subplots(2, 2, sharex=True)
    for ax, (measure, title) in zip(axes.flat, _TITLES.items(), strict=True):
        _marks(data, ax, measure, 100.0 if measure == "hit_rate" else 1.0)
        late = measure.startswith("latency")
        name_axes(ax, y=title, log="y" if late else "")
        if late:
            plain_numbers(ax, "y")
    names = list(WORKLOADS)[: data["x"].size]
    for ax in axes[1]:
        ax.set_xticks(data["x"], names)
    canvas.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower left", ncols=3)


def _marks(data: Data, ax: Axes, measure: str, scale: float) -> None:
    """Methods side by side at each workload, with the range over the seeds."""
    names = names_of(data)
    for place, name in enumerate(names):
        label, color, _, marker = LOOKS[name]
        middle = scale * data[f"{name}.{measure}"]
        low, high = (scale * data[f"{name}.{measure}_{end}"] for end in ("low", "high"))
        ax.errorbar(
            data["x"] + 0.8 * ((place + 0.5) / len(names) - 0.5),
            middle,
            yerr=np.stack([middle - low, high - middle]),
            color=color,
            label=label,
            linestyle="none",
            marker=marker,
            markersize=5,
            elinewidth=1.0,
        )
    for edge in data["x"][:-1] + 0.5:
        ax.axvline(edge, color=PALE, linewidth=0.8, zorder=0)


def caption(data: Data) -> str:
    generated, chats, documents, slower = (
        [
            listed([float(ratio(data, f"latency_{of}", over, "lbgr+rlt")[place])])
            for over in ("cache-aware+lru", "random+lru")
            for of in ("p50", "p95")
        ]
        for place in range(4)
    )
    rows = "; ".join(
        f"{name} {median} and {p95} (Random + LRU: {random_median} and {random_p95})"
        for name, (median, p95, random_median, random_p95) in (
            ("generated prefixes", generated),
            ("conversations", chats),
            ("documents", documents),
            ("documents at 6 requests/s", slower),
        )
    )
    return (
        "Generated prefixes as appendix A states them; conversations (ShareGPT, UltraChat) and "
        "documents (Loogle) with the structure that it gives them, without their texts: 8 "
        "questions of 32 tokens for each document, in random order, are ours. 12 requests/s, 4 "
        "workers. Half of each: 64 groups, 64 clients, 256 documents, 100,000 tokens a worker. "
        f"{sweeps.told(SEEDS).replace('lines', 'marks').replace('bands', 'bars')} Latency of "
        f"Cache-Aware + LRU over that of LBGR + RLT, median and P95: {rows}. The paper's "
        "averages over four workloads: 11.96 and 2.03; over Random + LRU 30.9. Documents at 12 "
        "requests/s are more than our servers can compute under any of these methods; what LBGR "
        "loses there its residual loses, as without one it is level with Cache-Aware (Figure 14, "
        "right)."
    )


FIGURE = Figure(
    id="routing_figure_2",
    title="The paper's order holds on generated prefixes and conversations, not on documents",
    source="Routing, Figure 2 and section 5",
    parameters={
        "workloads": [
            [of.workload, [list(pair) for pair in of.options]] for of in WORKLOADS.values()
        ],
        "seeds": list(SEEDS),
    },
    size=(9.5, 6.4),
    data=data,
    draw=draw,
    caption=caption,
)
