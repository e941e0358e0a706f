"""Congestion, Figure 14: the energy falls in every iteration and enters N at the eighth."""

import numpy as np

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE, PALE, SMALL_NOTE, name_axes
from fluidkv.papers.congestion.figures._example_11 import (
    PARAMETERS,
    START,
    entry,
    example,
    trajectory,
)


def data() -> Data:
    """L(y^n), its decreases up to the entry, and the level that bounds N."""
    states, energies = trajectory()
    found = example()
    level = float(found.delta_squared)
    norm = float(found.lyapunov.norm.mid())
    at = entry(energies, level)
    drops = np.sum(states[:at] ** 2, axis=1)
    return {
        "iteration": np.arange(len(energies), dtype=np.float64),
        "energy": energies,
        "decrease": drops,
        "level": level,
        "entry": float(at),
        "guaranteed": level / (2 * norm),
        "guaranteed_rate": 1 - 1 / norm,
    }


def draw(data: Data, canvas: Canvas) -> None:
    (ax,) = canvas.subplots(1, 1, squeeze=False)[0]
    n, energy, level = data["iteration"], data["energy"], data["level"]
    at = int(data["entry"])
    ax.axhspan(level, 2 * energy.max(), color=PALE, zorder=0)
    ax.axhline(level, color=GREY, linewidth=0.8)
    ax.annotate(f"δ² = {level:.3f}", (n[-1], level), (0, 4), **SMALL_NOTE, ha="right")
    ax.annotate("outside $\\mathcal{N}$", (n[-1], energy.max()), (0, 0), **SMALL_NOTE, ha="right")
    bound = energy[0] * data["guaranteed_rate"] ** n
    label = f"guaranteed, {data['guaranteed_rate']:.3f}$^n$"
    ax.plot(n, bound, color=GREY, linestyle="--", linewidth=1.0, label=label)
    ax.plot(n, energy, color=BLUE, marker="o", markersize=3, linewidth=1.0, label="$L(y^n)$")
    ax.plot(n[at], energy[at], "o", color=ORANGE, markersize=7, label=f"enters at n = {at}")
    name_axes(ax, "iteration n", "energy L", log="y")
    ax.set(ylim=(energy.min() / 2, 2 * energy.max()), xticks=range(0, len(n), 2))
    ax.legend(loc="lower left")


def caption(data: Data) -> str:
    drops = data["decrease"]
    return (
        "Example 11 from y = (1, 0, 0), exact arithmetic. Until the energy is below "
        f"δ² = {data['level']:.3f}, at n = {data['entry']:g}, it falls by "
        f"{drops.min():.2f} to {drops.max():.2f} an iteration, where the proof guarantees "
        f"{data['guaranteed']:.4f}. Dashed: the factor 1 - 1/C_P that it guarantees an "
        "iteration. The start holds more than memory has; with the oldest "
        "cohort smaller by as many tokens it is feasible, and all later states are the same."
    )


FIGURE = Figure(
    id="congestion_figure_14",
    title="The energy falls in every iteration",
    source="Congestion, Figure 14 and Example 11",
    parameters=PARAMETERS | START,
    size=(7.0, 3.6),
    data=data,
    draw=draw,
    caption=caption,
)
