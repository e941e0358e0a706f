"""Congestion, Figure 6: a small perturbation grows until memory is exhausted."""

from fractions import Fraction

import numpy as np

from fluidkv import exact
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, NOTE, ORANGE, PALE, name_axes, zero_line
from fluidkv.workload import RequestClass, System, Workload

_INPUT, _DECODE, _CAPACITY = 2, 3, 24
_START = (Fraction(5, 2), Fraction(2), Fraction(17, 10))


def data() -> Data:
    """Admissions that balance (2) asks for, up to the first that is negative, and the spread.

    The spread is that of the model, which stops at the first eviction with the last state before.
    """
    system = System(Workload((RequestClass(_INPUT, _DECODE),)), Fraction(_CAPACITY))
    found = exact.cascade(exact.trajectory(system, _START, iterations=20), system)
    first = found.first_eviction
    if first is None:
        raise ArithmeticError("the start of Example 3 does not evict")
    admitted = [Fraction(found.states[n][0]) for n in range(first)]
    *younger, oldest = (Fraction(x) for x in found.states[first - 1])
    peak = _INPUT + _DECODE
    asked = (peak * oldest - sum(younger)) / (_INPUT + 1)
    return {
        "iteration": np.arange(first + 1, dtype=np.float64),
        "admission": np.array([*admitted, asked], dtype=np.float64),
        "spread": np.array([*found.spreads[:first], np.nan], dtype=np.float64),
        "equilibrium": float(exact.eviction_free_equilibrium(system).rate),
        "growth": float(Fraction(peak, _INPUT + 1)) ** 0.5,  # |z|^2 is the product of both roots
    }


def draw(data: Data, canvas: Canvas) -> None:
    left, right = canvas.subplots(1, 2)
    n, x, growth = data["iteration"], data["equilibrium"], data["growth"]
    admission, spread = data["admission"], data["spread"]

    # The largest deviation so far sets the scale of the envelope.
    scale = np.max(np.abs(admission - x) / growth**n)
    for sign in (1, -1):
        style = {"color": GREY, "linestyle": "--", "linewidth": 1.0}
        label = f"x* ± {scale:.2f} · {growth:.2f}$^n$" if sign > 0 else None
        left.plot(n, x + sign * scale * growth**n, label=label, **style)
    zero_line(left, x)
    left.axhspan(-3, 0, color=PALE, zorder=0)
    left.plot(n[:-1], admission[:-1], color=BLUE, marker="o", markersize=4)
    left.plot(n[-2:], admission[-2:], color=ORANGE, linestyle=":")
    left.plot(n[-1:], admission[-1:], color=ORANGE, marker="o", markersize=5)
    left.annotate(
        f"n = {n[-1]:.0f}: {admission[-1]:.2f} asked for,\nrequests are evicted instead",
        (n[-1], admission[-1]),
        (4, -28),
        **(NOTE | {"ha": "right", "va": "center"}),
    )
    left.annotate("x*", (n[-1], x), (-2, 3), **NOTE)
    name_axes(left, y="requests admitted an iteration", title="(a) the next admission")
    left.set_ylim(-3, 6)
    left.legend(loc="upper left")

    right.step(n[:-1], spread[:-1], where="mid", color=GREY, linewidth=0.8)
    right.plot(n[:-1], spread[:-1], color=BLUE, marker="o", markersize=4, linestyle="none")
    right.axvline(n[-1], color=ORANGE, linewidth=1.0, linestyle=":")
    right.annotate("first eviction", (n[-1], 0.3), (-4, 0), **(NOTE | {"ha": "right"}))
    name_axes(right, y="requests", title="(b) the spread, largest minus smallest stage")
    right.set_ylim(0, 4)
    for ax in (left, right):
        ax.set(xlabel="iteration n", xlim=(-0.3, n[-1] + 0.3))


def caption(data: Data) -> str:
    n, spread = data["iteration"], data["spread"]
    return (
        f"l0 = {_INPUT}, l1 = {_DECODE}, M = {_CAPACITY} from ({', '.join(map(str, _START))}), in "
        "exact arithmetic. (a) Admissions that keep memory full without eviction; the dashed "
        "envelope grows by the modulus of the two modes, sqrt(5/3) = "
        f"{data['growth']:.3f}, and touches the largest deviation. At n = {n[-1]:.0f} the "
        f"balance asks for {data['admission'][-1]:.3f} requests. (b) The spread never falls "
        f"before, from {spread[0]:g} to {spread[-2]:.2f}."
    )


FIGURE = Figure(
    id="congestion_figure_6",
    title="A small imbalance grows until the surviving requests alone overflow memory",
    source="Congestion, Figure 6 and Example 3",
    parameters={
        "input_length": _INPUT,
        "decode_length": _DECODE,
        "capacity": _CAPACITY,
        "start": [str(x) for x in _START],
        "seed": None,
    },
    size=(9.0, 3.6),
    data=data,
    draw=draw,
    caption=caption,
)
