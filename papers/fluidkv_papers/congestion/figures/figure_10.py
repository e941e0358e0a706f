"""Congestion, Figure 10: roots of the limit for (2, 3) and (2, 4), and one root at finite input."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fluidkv import exact
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, NOTE, ORANGE, name_axes

_SHARE, _INPUT = Fraction(1, 2), 10
_COPRIME, _COMMON = (2, 3), (2, 4)
_PATH = (10, 11, 13, 16, 20, 30, 50, 100, 1000)
"""Input lengths at which the moving roots are shown on their way; infinity comes before."""


def data() -> Data:
    """Real and imaginary parts: roots of the limit, and the branches of (2, 4) down to l0 = 10."""
    found: dict[str, NDArray[np.float64] | float] = {}
    for name, lengths in (("coprime", _COPRIME), ("common", _COMMON)):
        mix = exact.two_lengths(*lengths, _SHARE)
        roots = exact.limit_roots(mix)
        limit = [_number(root.ball) for root in roots]
        branches = [exact.track(mix, root, _PATH) for root in roots]
        ends = [_number(branch.points[-1].ball) for branch in branches]
        for key, values in (("limit", limit), ("finite", ends)):
            found |= _parts(f"{name}_{key}", _mirrored(values))
        for j, branch in enumerate(branches):
            path = [limit[j], *(_number(point.ball) for point in branch.points)]
            found |= _parts(f"{name}_path_{j}", path)
        # the branch that starts at the leading root of the limit
        found[f"{name}_limit_modulus"] = float(roots[0].modulus.mid())
        found[f"{name}_finite_modulus"] = float(branches[0].points[-1].modulus.mid())
    return found


def draw(data: Data, canvas: Canvas) -> None:
    left, right = canvas.subplots(1, 2, sharey=True)
    for ax, name in ((left, "coprime"), (right, "common")):
        _plane(ax)
        real, imag = data[f"{name}_limit_real"], data[f"{name}_limit_imag"]
        outer = np.hypot(real, imag) > 1 - 1e-12  # exactly 1 where it is a root of unity
        for chosen, color in ((~outer, BLUE), (outer, ORANGE)):
            style = {"color": color, "markersize": 6, "linestyle": "none", "marker": "o"}
            ax.plot(real[chosen], imag[chosen], **style)
        _paths(ax, data, name)
    left.annotate("(-1 + i)/2", (-0.5, 0.5), (7, 4), **NOTE)
    left.annotate("(-1 - i)/2", (-0.5, -0.5), (7, -12), **NOTE)
    name_axes(left, y="Im z", title="(a) decode lengths 2 and 3: all inside")

    moved = data["common_finite_modulus"]
    right.annotate(
        f"l0 = {_INPUT}: |z| = {moved:.4f}",
        (-moved, 0),
        (24, 36),
        textcoords="offset points",
        color=ORANGE,
        fontsize=8.5,
        arrowprops={"arrowstyle": "-", "color": ORANGE, "linewidth": 0.8, "shrinkB": 4},
    )
    right.annotate("z = -1", (-1, 0), (8, -13), **NOTE)
    right.annotate("i/√2", (0, 2**-0.5), (8, -10), **NOTE)
    right.annotate("-i/√2", (0, -(2**-0.5)), (8, 2), **NOTE)
    right.set_title("(b) decode lengths 2 and 4: -1 moves out")
    handles = [
        right.plot([], [], color=GREY, marker="o", linestyle="none", label="limit, l0 → ∞")[0],
        right.plot(
            [], [], color=GREY, marker="o", mfc="white", linestyle="-", label=f"to l0 = {_INPUT}"
        )[0],
    ]
    right.legend(handles=handles, loc="lower right", handlelength=1.6)


def caption(data: Data) -> str:
    return (
        "Roots of the limiting polynomial A (dots), equal shares. Lines follow each root of F from "
        f"l0 = infinity down to l0 = {_INPUT} (rings), each continued with a certificate. (a) The "
        f"pair of modulus {data['coprime_limit_modulus']:.4f} stays inside, at "
        f"{data['coprime_finite_modulus']:.4f}. (b) The root at -1 moves out to modulus "
        f"{data['common_finite_modulus']:.4f}; the caption in the paper has 1.087. The "
        f"pair ±i/√2 moves outward too, and stays inside at this input length."
    )


def _plane(ax: Axes) -> None:
    turn = np.linspace(0, 2 * np.pi, 361)
    ax.plot(np.cos(turn), np.sin(turn), color=GREY, linewidth=0.9, linestyle="--")
    ax.axhline(0, color=GREY, linewidth=0.4)
    ax.axvline(0, color=GREY, linewidth=0.4)
    ax.set(aspect="equal", xlim=(-1.25, 1.15), ylim=(-1.2, 1.2), xlabel="Re z")


def _paths(ax: Axes, data: Data, name: str) -> None:
    """Lines from the limit to l0 = 10, mirror images included, with a ring at the end."""
    j = 0
    while f"{name}_path_{j}_real" in data:
        real, imag = data[f"{name}_path_{j}_real"], data[f"{name}_path_{j}_imag"]
        color = ORANGE if np.hypot(real[-1], imag[-1]) > 1 else BLUE
        for sign in (1, -1) if imag[0] else (1,):
            ax.plot(real, sign * imag, color=color, linewidth=1.2)
            ring = {"marker": "o", "markersize": 5, "mfc": "white", "mec": color}
            ax.plot(real[-1:], sign * imag[-1:], linestyle="none", **ring)
        j += 1


def _parts(name: str, values: list[complex]) -> dict[str, NDArray[np.float64]]:
    return {
        f"{name}_real": np.array([z.real for z in values]),
        f"{name}_imag": np.array([z.imag for z in values]),
    }


def _number(ball: object) -> complex:
    """The midpoint of a complex ball."""
    return complex(ball.mid())  # pyright: ignore[reportAttributeAccessIssue]


def _mirrored(values: list[complex]) -> list[complex]:
    return [z for value in values for z in ([value, value.conjugate()] if value.imag else [value])]


FIGURE = Figure(
    id="congestion_figure_10",
    title="A common divisor of 2 puts a root of the limit at -1, and finite inputs push it out",
    source="Congestion, Figure 10 and Example 8",
    parameters={
        "decode_lengths": [list(_COPRIME), list(_COMMON)],
        "shares": [str(_SHARE), str(1 - _SHARE)],
        "input_length": _INPUT,
        "input_lengths_on_the_way": list(_PATH),
        "seed": None,
    },
    size=(8.6, 4.8),
    data=data,
    draw=draw,
    caption=caption,
)
