"""Figure 12: CacheOPT and four other systems over the arrival rate."""

import numpy as np

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import name_axes
from fluidkv_papers.bands import ranged
from fluidkv_papers.cacheopt.figures.looks import LOOKS, SETTING, TITLES, TRACES, draw_line
from fluidkv_papers.cacheopt.instances.runs import RATES, SEEDS, values


def data() -> Data:
    """Means, least and most over the draws. Shapes: all (rate,)."""
    found: dict[str, np.ndarray] = {"x": np.array(RATES)}
    for trace in TRACES:
        for name in LOOKS:
            for measure in TITLES:
                rows = np.array([values("12", trace, name, rate, measure) for rate in RATES])
                found |= ranged(f"{trace}.{name}.{measure}", rows)
    return found


def draw(data: Data, canvas: Canvas) -> None:
    """A row for each measure, a column for each trace."""
    axes = canvas.subplots(len(TITLES), len(TRACES), sharex=True)
    for row, (measure, title) in zip(axes, TITLES.items(), strict=True):
        for ax, (trace, words) in zip(row, TRACES.items(), strict=True):
            for name in LOOKS:
                draw_line(data, ax, f"{trace}.{name}.{measure}", name)
            share = measure in ("ttft", "tbt")
            first, last = measure == "ttft_p99", measure == "latency"
            name_axes(ax, y=title, title=words if first else "", log="" if share else "y")
            if share:
                ax.set_ylim(0, 1.05)
            if last:
                ax.set_xlabel("arrival rate / printed rate")
    handles = axes[0, 0].get_legend_handles_labels()
    canvas.legend(*handles, loc="outside lower center", ncols=3)


def _caption(data: Data) -> str:
    at = list(RATES).index(1.0)

    def told(measure: str, form: str) -> str:
        rows = (
            ", ".join(
                f"{LOOKS[name][0]} {format(float(data[f'{trace}.{name}.{measure}'][at]), form)}"
                for name in LOOKS
            )
            for trace in TRACES
        )
        return "; ".join(rows)

    return (
        f"{SETTING} At the printed rate, first with Alpaca's lengths, then with ShareGPT's: P99 "
        f"TTFT {told('ttft_p99', '.2g')} s. TBT attainment {told('tbt', '.2f')}. Normalised "
        f"latency {told('latency', '.3f')} s. The paper has CacheOPT ahead in all five measures."
    )


FIGURE = Figure(
    id="cacheopt_figure_12",
    title="vLLM and CacheOPT are on time with first tokens; whole reservations with later ones",
    source="CacheOPT, Figure 12",
    parameters={"rates": list(RATES), "draws": len(SEEDS)},
    size=(8.5, 12.0),
    data=data,
    draw=draw,
    caption=_caption,
)
