"""Figure 14: CacheOPT without one of its parts."""

import numpy as np

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, ORANGE, name_axes
from fluidkv_papers.bands import ranged
from fluidkv_papers.cacheopt.figures.looks import SETTING, TITLES, TRACES
from fluidkv_papers.cacheopt.instances.runs import SEEDS, values
from fluidkv_papers.cacheopt.instances.segment import VARIANTS

MEASURES = ("ttft_p99", "ttft", "tbt_p99", "tbt", "latency", "preempt")
_TITLES = {**TITLES, "preempt": "preemptions a request"}
_SHORT = {
    "cacheopt": "CacheOPT",
    "no embedding": "no emb.",
    "padded up": "up",
    "padded up, no embedding": "up, no emb.",
}
_COLORS = {"alpaca": BLUE, "sharegpt": ORANGE}
_REQUESTS = {"alpaca": 250, "sharegpt": 80}


def data() -> Data:
    """Means, least and most over the draws. Shapes: all (variant,), in the order of `VARIANTS`."""
    found: dict[str, np.ndarray] = {}
    for trace in TRACES:
        for measure in MEASURES:
            rows = np.array([values("14", trace, name, 0.0, measure) for name in VARIANTS])
            rows = rows / (_REQUESTS[trace] if measure == "preempt" else 1)
            found |= ranged(f"{trace}.{measure}", rows)
    return found


def draw(data: Data, canvas: Canvas) -> None:
    """A panel for each measure; bars for the variants, with the range over the draws."""
    axes = canvas.subplots(3, 2, sharex=True)
    places = np.arange(len(VARIANTS))
    for ax, measure in zip(axes.flat, MEASURES, strict=True):
        for side, (trace, words) in zip((-0.2, 0.2), TRACES.items(), strict=True):
            key = f"{trace}.{measure}"
            ends = [data[key] - data[f"{key}_low"], data[f"{key}_high"] - data[key]]
            style = {"color": _COLORS[trace], "label": words, "ecolor": "0.4", "capsize": 1.5}
            ax.bar(places + side, data[key], 0.38, yerr=ends, **style)
        name_axes(ax, y=_TITLES[measure])
        ax.set_xticks(places, [_SHORT.get(n, n) for n in VARIANTS], rotation=40, ha="right")
    canvas.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)


def _caption(data: Data) -> str:
    names = list(VARIANTS)

    def told(trace: str, measure: str, form: str) -> str:
        return ", ".join(
            f"{name} {format(float(data[f'{trace}.{measure}'][names.index(name)]), form)}"
            for name in names
        )

    return (
        f"{SETTING} At the printed rate. TBT attainment, Alpaca: {told('alpaca', 'tbt', '.2f')}; "
        f"ShareGPT: {told('sharegpt', 'tbt', '.2f')}. P99 TTFT, Alpaca: "
        f"{told('alpaca', 'ttft_p99', '.2g')} s. The last three variants are ours: without "
        "embedding, with padding that is never subtracted (up), and both."
    )


FIGURE = Figure(
    id="cacheopt_figure_14",
    title="What CacheOPT loses without one of its parts, and what it gains",
    source="CacheOPT, Figure 14",
    parameters={"variants": list(VARIANTS), "draws": len(SEEDS)},
    size=(8.5, 9.0),
    data=data,
    draw=draw,
    caption=_caption,
)
