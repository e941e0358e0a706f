"""Figure 17: CacheOPT over each of its numbers."""

import numpy as np

from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE, name_axes
from fluidkv_papers.bands import ranged
from fluidkv_papers.cacheopt.figures.looks import SETTING
from fluidkv_papers.cacheopt.instances.deviations import deviations
from fluidkv_papers.cacheopt.instances.runs import CONFIDENCES, SEEDS, SWEEPS, values

AXES = {
    "a": "SLO scale of all requests",
    "b": "block size B, tokens",
    "c": "iterations ahead m",
    "d": "reserved blocks",
    "e": "alpha (beta = 100)",
    "f": "beta (alpha = 0.9)",
    "g": "confidence",
}


def data() -> Data:
    """Means, least and most over the draws. Shapes: "a.x", "a.ttft" ... (value,)."""
    found: dict[str, np.ndarray] = {}
    for letter, points in SWEEPS.items():
        found[f"{letter}.x"] = np.array(points, float)
        for measure in ("ttft", "tbt"):
            rows = np.array(
                [values(f"17{letter}", "alpaca", "cacheopt", x, measure) for x in points]
            )
            found |= ranged(f"{letter}.{measure}", rows)
    found["h.x"] = np.array(CONFIDENCES)
    of = deviations()
    for side in ("over", "under"):
        found[f"h.{side}"] = np.array([of[c].share(side) for c in CONFIDENCES])
        for name in ("rlp", "s3"):
            found[f"h.{side}.{name}"] = np.array([of[name].share(side)])
    return found


def draw(data: Data, canvas: Canvas) -> None:
    """Attainments over a number in each panel; in the last, who is over- and underpredicted."""
    axes = canvas.subplots(4, 2)
    for ax, (letter, words) in zip(axes.flat, AXES.items(), strict=False):
        for measure, color, marker in (("ttft", BLUE, "o"), ("tbt", ORANGE, "s")):
            x, key = data[f"{letter}.x"], f"{letter}.{measure}"
            ends = data[f"{key}_low"], data[f"{key}_high"]
            ax.fill_between(x, *ends, color=color, alpha=0.15, linewidth=0)
            ax.plot(x, data[key], color=color, marker=marker, markersize=4, label=measure.upper())
        name_axes(ax, x=f"({letter}) {words}", y="attainment", log="x" if letter in "bf" else "")
        ax.set_ylim(0, 1.05)
        if letter == "b":
            ax.set_xticks(x, [f"{value:g}" for value in x], minor=False)
            ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    _draw_deviations(data, axes.flat[-1])
    axes.flat[0].legend()


def _draw_deviations(data: Data, ax: Axes) -> None:
    for side, color in (("over", BLUE), ("under", ORANGE)):
        ax.plot(data["h.x"], data[f"h.{side}"], color=color, marker="o", markersize=4, label=side)
        for name, style in (("rlp", ":"), ("s3", "--")):
            level = float(data[f"h.{side}.{name}"][0])
            ax.axhline(level, color=color, linestyle=style, linewidth=1)
    ax.plot([], [], color=GREY, linestyle=":", label="RLP")
    ax.plot([], [], color=GREY, linestyle="--", label="S3")
    name_axes(ax, x="(h) confidence", y="share of requests")
    ax.set_ylim(-0.02, 1.05)
    ax.legend(
        title="estimated", fontsize="small", ncols=2, loc="center", bbox_to_anchor=(0.5, 0.27)
    )


def _caption(data: Data) -> str:
    def told(letter: str, measure: str) -> str:
        pairs = zip(data[f"{letter}.x"], data[f"{letter}.{measure}"], strict=True)
        return ", ".join(f"{float(x):g}: {float(y):.2f}" for x, y in pairs)

    return (
        f"{SETTING} Alpaca's lengths at the printed rate. TBT attainment by scale "
        f"{told('a', 'tbt')}; by B {told('b', 'tbt')}; by m {told('c', 'tbt')}; by reserved blocks "
        f"{told('d', 'tbt')}; by confidence {told('g', 'tbt')}. TTFT attainment by scale "
        f"{told('a', 'ttft')}."
    )


FIGURE = Figure(
    id="cacheopt_figure_17",
    title="Objectives, block size and padding matter; m and the reservation hardly do",
    source="CacheOPT, Figure 17",
    parameters={
        "sweeps": {letter: list(points) for letter, points in SWEEPS.items()},
        "draws": len(SEEDS),
    },
    size=(8.5, 11.0),
    data=data,
    draw=draw,
    caption=_caption,
)
