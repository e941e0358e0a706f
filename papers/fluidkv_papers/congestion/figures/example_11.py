"""Figures 13 to 15, Example 11: near the equilibrium nothing is evicted, and the state stays."""

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from fluidkv import exact
from fluidkv.exact.mixed import nearby
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREEN, GREY, ORANGE, PALE, SMALL_NOTE, name_axes, zero_line
from fluidkv.workload import System

_INPUT, _LENGTHS, _SHARE, _CAPACITY = 10, (2, 3), Fraction(1, 2), 118
_ITERATIONS = 20
_PARAMETERS: dict[str, object] = {
    "input_length": _INPUT,
    "decode_lengths": list(_LENGTHS),
    "shares": [str(_SHARE), str(_SHARE)],
    "capacity": _CAPACITY,
    "seed": None,
}
_BLACK_NOTE: dict[str, Any] = SMALL_NOTE | {"color": "black", "ha": "right", "va": "center"}
_NEAR = 4  # iterations before the entry that panel (b) shows
_LINE = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6}
_START = {"start": "y = (1, 0, 0)", "iterations": _ITERATIONS}


@cache
def example() -> "nearby.neighbourhood.Neighbourhood":
    """P, delta and the levels of L."""
    return exact.neighbourhood(
        System(exact.two_lengths(*_LENGTHS, _SHARE).workload(_INPUT), _CAPACITY)
    )


@cache
def trajectory() -> tuple[np.ndarray, np.ndarray]:
    """y^n by (n, age) and L(y^n), n = 0 ... _ITERATIONS, computed in rationals.

    From (1, 0, 0), whose memory is V_0 above capacity. The oldest cohort does not enter the next
    state, so that from n = 1 on it is the trajectory of a state on the memory boundary as well.
    """
    found = example()
    y = (Fraction(1), Fraction(0), Fraction(0))
    states, energies = [], []
    for _ in range(_ITERATIONS + 1):
        states.append([float(v) for v in y])
        energies.append(number(found.energy(y)))
        y = nearby.transition.transition(found.lyapunov.weights, y)
    return np.array(states), np.array(energies)


def number(level: "nearby.neighbourhood.Level | None") -> float:
    """A level that is there, as a float."""
    if level is None:
        raise ArithmeticError("decode lengths above 1 and a stable system were expected")
    return float(level)


def entry(energies: np.ndarray, level: float) -> int:
    """The first n with energy below the level."""
    return int(np.argmax(energies < level))


def _memory_data() -> Data:
    """Tokens: after the shift, the margin, and how far N and larger sets reach."""
    found = example()
    margin = float(found.margin)
    delta = float(found.delta_squared) ** 0.5
    return {
        "capacity": float(found.system.capacity),
        "post_shift": float(found.system.capacity) - margin,
        "margin": margin,
        "bound": float(found.system.capacity / (4 * found.kappa)),
        "ball": delta * margin / number(found.ball_squared) ** 0.5,
        "inside": margin * delta / number(found.eviction_level) ** 0.5,
        "on_boundary": margin * delta / number(found.boundary_level) ** 0.5,
        "delta": delta,
        "sharp_factor": number(found.eviction_level) / delta**2,
    }


def _memory_draw(data: Data, canvas: Canvas) -> None:
    ax = canvas.subplots()
    shift, capacity = data["post_shift"], data["capacity"]
    rows = (
        ("at equilibrium", 0.0, BLUE),
        ("bound of the proof, $C_2 l_0 δ$", data["bound"], ORANGE),
        ("largest where ‖y‖ ≤ δ", data["ball"], ORANGE),
        ("largest inside $\\mathcal{N}$", data["inside"], ORANGE),
        ("largest inside $\\mathcal{N}$, memory full", data["on_boundary"], ORANGE),
    )
    for i, (_, deviation, color) in enumerate(rows):
        ax.barh(i, shift, color=BLUE, height=0.55)
        ax.barh(i, deviation, left=shift, color=color, height=0.55)
        ax.barh(i, capacity - shift - deviation, left=shift + deviation, color=PALE, height=0.55)
        free = capacity - shift - deviation
        words = f"{free:.1f} free"
        ax.annotate(words, (capacity, i), (-6, 0), **_BLACK_NOTE)
        if deviation:
            end = (shift + deviation, i)
            ax.annotate(f"+{deviation:.1f}", end, (4, 0), **SMALL_NOTE, va="center")
    ax.axvline(capacity, color=GREY, linewidth=1.0)
    ax.annotate(
        f"M = {capacity:g}", (capacity, -0.75), (-4, 0), textcoords="offset points", ha="right"
    )
    ax.set_yticks(range(len(rows)), [name for name, *_ in rows])
    ax.set(
        ylim=(len(rows) - 0.5, -1.0),
        xlim=(0, capacity * 1.01),
        xlabel="memory after the shift, before admission, tokens",
    )


def _memory_caption(data: Data) -> str:
    return (
        f"Example 11: after the shift {data['post_shift']:g} of "
        f"{data['capacity']:g} tokens are held at equilibrium. Where the deviation y of "
        f"the cohorts has norm at most δ = {data['delta']:.3f} the proof allows for "
        f"{data['bound']:.1f} tokens more; the largest that there are is "
        f"{data['ball']:.1f}, {data['inside']:.1f} inside N = {{L < δ²}} and "
        f"{data['on_boundary']:.1f} if memory is full as well. Eviction is excluded up to "
        f"L = {data['sharp_factor']:.0f} δ²."
    )


def _energy_data() -> Data:
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


def _energy_draw(data: Data, canvas: Canvas) -> None:
    ax = canvas.subplots()
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


def _energy_caption(data: Data) -> str:
    drops = data["decrease"]
    return (
        "Example 11 from y = (1, 0, 0), exact arithmetic. Until the energy is below "
        f"δ² = {data['level']:.3f}, at n = {data['entry']:g}, it falls by "
        f"{drops.min():.2f} to {drops.max():.2f} an iteration, where the proof guarantees "
        f"{data['guaranteed']:.4f}. Dashed: the factor 1 - 1/C_P that it guarantees an "
        "iteration. The start holds more than memory has; with the oldest "
        "cohort smaller by as many tokens it is feasible, and all later states are the same."
    )


def _plane_data() -> Data:
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


def _plane_draw(data: Data, canvas: Canvas) -> None:
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


def _plane_caption(data: Data) -> str:
    return (
        "Example 11 from y = (1, 0, 0), exact arithmetic. (a) Orange until L is below δ², at "
        f"n = {data['entry']:g}; blue after it. The ellipse is N in this plane, section "
        f"and shadow alike. The drawn point is in it from n = {data['entry_in_plane']:g} "
        "on, when the oldest cohort, not drawn, still keeps L above δ². (b) Inside, the energy is "
        f"multiplied by {data['spectral_rate']:.3f} an iteration in the mean."
    )


FIGURES = (
    Figure(
        id="congestion_figure_13",
        title="Near the equilibrium memory after the shift stays well below capacity",
        source="Congestion, Figure 13 and Example 11",
        parameters=_PARAMETERS,
        size=(8.0, 3.2),
        data=_memory_data,
        draw=_memory_draw,
        caption=_memory_caption,
    ),
    Figure(
        id="congestion_figure_14",
        title="The energy falls in every iteration",
        source="Congestion, Figure 14 and Example 11",
        parameters=_PARAMETERS | _START,
        size=(7.0, 3.6),
        data=_energy_data,
        draw=_energy_draw,
        caption=_energy_caption,
    ),
    Figure(
        id="congestion_figure_15",
        title="The state spirals to the equilibrium and stays inside N",
        source="Congestion, Figure 15 and Example 11",
        parameters=_PARAMETERS | _START,
        size=(9.0, 4.0),
        data=_plane_data,
        draw=_plane_draw,
        caption=_plane_caption,
    ),
)
