"""Congestion, Figure 15: the state spirals into N and to the origin."""

import numpy as np

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREEN, GREY, ORANGE, SMALL_NOTE, name_axes, zero_line
from fluidkv.papers.congestion.figures._example_11 import (
    PARAMETERS,
    START,
    entry,
    example,
    trajectory,
)

_NEAR = 4  # iterations before the entry that panel (b) shows


def data() -> Data:
    """The trajectory in the plane of the two youngest cohorts, N there, and the energy."""
    states, energies = trajectory()
    found = example()
    level = float(found.delta_squared)
    matrix = np.array([[float(x) for x in row] for row in found.lyapunov.matrix or ()])
    plane = matrix[:2, :2]  # P couples the oldest cohort to nothing: section and projection agree
    angle = np.linspace(0, 2 * np.pi, 181)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    ellipse = np.linalg.solve(np.linalg.cholesky(plane).T, circle) * level**0.5
    energy_in_plane = np.einsum("ni,ij,nj->n", states[:, :2], plane, states[:, :2])
    weights = found.lyapunov.weights.memory
    return {
        "iteration": np.arange(len(energies), dtype=np.float64),
        "youngest": states[:, 0],
        "second": states[:, 1],
        "energy": energies,
        "ellipse_youngest": ellipse[0],
        "ellipse_second": ellipse[1],
        "level": level,
        "entry": float(entry(energies, level)),
        "entry_in_plane": float(entry(energy_in_plane, level)),
        "spectral_rate": weights[-1] / weights[0],
    }


def draw(data: Data, canvas: Canvas) -> None:
    left, right = canvas.subplots(1, 2)
    at = int(data["entry"])
    y0, y1 = data["youngest"], data["second"]
    left.plot(y0[: at + 1], y1[: at + 1], color=ORANGE, marker="o", markersize=3, linewidth=1.0)
    left.plot(y0[at:], y1[at:], color=BLUE, marker="o", markersize=2.5, linewidth=1.0)
    left.plot(y0[at], y1[at], "o", color=ORANGE, markersize=7, zorder=3)
    left.plot(
        data["ellipse_youngest"],
        data["ellipse_second"],
        color=GREEN,
        linestyle="--",
        label="$\\mathcal{N}$: $L = δ^2$",
    )
    left.annotate("start", (y0[0], y1[0]), (0, -14), **SMALL_NOTE, ha="center")
    left.annotate(f"n = {at}", (y0[at], y1[at]), (10, 12), **SMALL_NOTE, arrowprops=_LINE)
    earlier = int(data["entry_in_plane"])
    if earlier != at:
        text = f"n = {earlier}"
        left.annotate(text, (y0[earlier], y1[earlier]), (-62, -22), **SMALL_NOTE, arrowprops=_LINE)
    left.set_aspect("equal", adjustable="datalim")
    name_axes(left, "youngest cohort, $y_0$", "second cohort, $y_1$", "(a) the state")
    left.legend(loc="lower left")
    zero_line(left, 0)
    left.axvline(0, color=GREY, linewidth=0.8)

    n, energy = data["iteration"], data["energy"]
    shown = slice(at - _NEAR, None)
    right.plot(n[shown], energy[shown], color=BLUE, marker="o", markersize=3, linewidth=1.0)
    right.plot(n[at], energy[at], "o", color=ORANGE, markersize=7, zorder=3)
    right.axhline(data["level"], color=GREEN, linestyle="--", linewidth=1.0)
    right.annotate("δ²", (n[-1], data["level"]), (0, 4), **SMALL_NOTE, ha="right")
    rate = data["spectral_rate"]
    label = f"$ρ^2$ = {rate:.3f} an iteration"
    geometric = energy[at] * rate ** (n[at:] - n[at])
    right.plot(n[at:], geometric, color=GREY, linestyle="--", linewidth=1.0, label=label)
    name_axes(right, "iteration n", "energy L", "(b) the energy near the entry", log="y")
    right.set_xticks(range(int(n[shown][0]), int(n[-1]) + 1, 4))
    right.legend(loc="lower left")


def caption(data: Data) -> str:
    return (
        "Example 11 from y = (1, 0, 0), exact arithmetic. (a) Orange until L is below δ², at "
        f"n = {data['entry']:g}; blue after it. The ellipse is N in this plane, section "
        f"and shadow alike. The drawn point is in it from n = {data['entry_in_plane']:g} "
        "on, when the oldest cohort, not drawn, still keeps L above δ². (b) Inside, the energy is "
        f"multiplied by {data['spectral_rate']:.3f} an iteration in the mean."
    )


_LINE = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6}

FIGURE = Figure(
    id="congestion_figure_15",
    title="The state spirals to the equilibrium and stays inside N",
    source="Congestion, Figure 15 and Example 11",
    parameters=PARAMETERS | START,
    size=(9.0, 4.0),
    data=data,
    draw=draw,
    caption=caption,
)
