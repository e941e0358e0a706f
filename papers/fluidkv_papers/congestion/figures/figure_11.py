"""Congestion, Figure 11: spectral radius of F against input length for (2, 3) and (2, 4)."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fluidkv import exact
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREY, NOTE, ORANGE, name_axes

_SHARE = Fraction(1, 2)
_LENGTHS = {"coprime": (2, 3), "common": (2, 4)}
_INPUTS = tuple(range(1, 21)) + tuple(range(22, 61, 2)) + tuple(range(65, 201, 5))


def data() -> Data:
    """Certified spectral radii, the limits, and the first-order approximations."""
    l0 = np.array(_INPUTS, dtype=np.float64)
    found: dict[str, NDArray[np.float64] | float] = {"input_length": l0}
    for name, lengths in _LENGTHS.items():
        mix = exact.two_lengths(*lengths, _SHARE)
        limit = float(exact.limit_roots(mix)[0].modulus.mid())
        radii = [exact.certify_spectrum(mix.weights(length)).radius for length in _INPUTS]
        found[f"{name}_radius"] = np.array([(low + high) / 2 for low, high in radii])
        found[f"{name}_first_order"] = limit * (1 + 1 / (l0 + mix.ages))
        found[f"{name}_limit"] = limit
    return found


def draw(data: Data, canvas: Canvas) -> None:
    ax = canvas.subplots()
    l0 = data["input_length"]
    ax.axhline(1, color=BLACK, linewidth=0.9)
    for name, color in (("common", ORANGE), ("coprime", BLUE)):
        lengths = " and ".join(map(str, _LENGTHS[name]))
        radius = data[f"{name}_radius"]
        ax.plot(l0, radius, color=color, marker="o", markersize=2.6, label=f"lengths {lengths}")
        first = data[f"{name}_first_order"]
        ax.plot(l0, first, color=color, linewidth=1.0, linestyle="--", label="first order")
        ax.axhline(data[f"{name}_limit"], color=color, linewidth=0.8, linestyle=":")
    limit = data["coprime_limit"]
    ax.annotate(f"limit {limit:.4f}", (1, limit), (0, 4), **NOTE)
    ax.annotate("unit circle: limit for 2 and 4", (l0[-1], 1), (0, -11), **NOTE, ha="right")
    ax.annotate(
        "l0 = 1: exactly on the circle",
        (1, data["coprime_radius"][0]),
        (30, 14),
        **NOTE,
        arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.8, "shrinkB": 3},
    )
    ax.set_xscale("log")
    ax.set_xticks([1, 2, 5, 10, 20, 50, 100, 200], ["1", "2", "5", "10", "20", "50", "100", "200"])
    ax.minorticks_off()
    name_axes(ax, "input length l0, tokens", "spectral radius of F")
    ax.legend(loc="upper right", ncols=2)


def caption(data: Data) -> str:
    l0 = data["input_length"]
    ten = int(np.flatnonzero(l0 == 10)[0])
    off = [
        100 * (data[f"{name}_radius"][ten] / data[f"{name}_first_order"][ten] - 1)
        for name in ("common", "coprime")
    ]
    first = data["coprime_radius"][0]
    return (
        "Spectral radius of F, each value enclosed in a ball, equal shares. Lengths 2 and 4: above "
        f"1 at every l0. Lengths 2 and 3: {first:g} at l0 = 1, where both roots lie on the unit "
        "circle, and below 1 from l0 = 2 on; the margin that the paper has at every finite l0 is "
        "there from 2 on. Dashed: |alpha| (1 + 1/(l0 + d)), which is the lower one; at l0 = 10 the "
        f"radius is {off[0]:.2f} % and {off[1]:.2f} % above it."
    )


FIGURE = Figure(
    id="congestion_figure_11",
    title="Lengths 2 and 4 never become stable; 2 and 3 are stable from l0 = 2 on",
    source="Congestion, Figure 11 and Example 9",
    parameters={
        "decode_lengths": [list(pair) for pair in _LENGTHS.values()],
        "shares": [str(_SHARE), str(1 - _SHARE)],
        "input_lengths": list(_INPUTS),
        "seed": None,
    },
    size=(7.6, 4.2),
    data=data,
    draw=draw,
    caption=caption,
)
