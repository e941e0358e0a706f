"""Congestion, Figure 2: the same start decays for decode lengths 2, 3 and grows for 2, 4."""

from fractions import Fraction

import numpy as np

from fluidkv import exact
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE, PALE, SMALL_NOTE, name_axes, zero_line
from fluidkv.workload import RequestClass, System, Workload

_INPUT, _SHARE, _START = 50, Fraction(1, 2), 5
_COPRIME, _COMMON = (2, 3), (2, 4)
_CAPACITY = {_COPRIME: 518, _COMMON: 626}
_ITERATIONS = 50
# Far enough for the decaying modes (0.72 an iteration) to fall below double precision.
_MODE_ALONE = 120


def admissions(lengths: tuple[int, int], iterations: int) -> list[Fraction]:
    """a^0 ... a^iterations of recurrence (9), exact.

    Memory stays full: sum of V_s a^{n-s} = M. Before n = 0 every cohort is at x*, except that the
    oldest one is smaller by what the start is larger, in tokens; it leaves at the first iteration.
    """
    system = _system(lengths)
    x = exact.eviction_free_equilibrium(system).rate
    weights = exact.survival_weights(system.workload)
    v = [Fraction(w, weights.denominator) for w in weights.memory]
    excess = v[0] * (_START - x)
    history = [x - excess / v[-1], *[x] * (len(v) - 2), Fraction(_START)]
    for _ in range(iterations):
        held = sum((w * a for w, a in zip(v[1:], reversed(history), strict=False)), Fraction(0))
        history.append((system.capacity - held) / v[0])
    return history[len(v) - 1 :]


def data() -> Data:
    """Admissions of both systems, and the growing mode's share of the second one."""
    system = _system(_COMMON)
    x = float(exact.eviction_free_equilibrium(system).rate)
    radius = exact.certify_spectrum(exact.survival_weights(system.workload)).radius[0]
    alone = abs(float(admissions(_COMMON, _MODE_ALONE)[-1]) - x) / radius**_MODE_ALONE
    n = np.arange(_ITERATIONS + 1, dtype=np.float64)
    return {
        "iteration": n,
        "coprime": np.array(admissions(_COPRIME, _ITERATIONS), dtype=np.float64),
        "common_divisor_2": np.array(admissions(_COMMON, _ITERATIONS), dtype=np.float64),
        "envelope": alone * radius**n,
        "equilibrium": x,
        "growth": radius,
    }


def draw(data: Data, canvas: Canvas) -> None:
    left, right = canvas.subplots(1, 2, sharey=True)
    n, x = data["iteration"], data["equilibrium"]

    left.axhspan(0.98 * x, 1.02 * x, color=PALE, zorder=0)
    left.annotate("within 2 % of x*", (n[-1], 1.02 * x), (0, 4), **SMALL_NOTE, ha="right")
    _trajectory(left, n, data["coprime"], x, BLUE)
    left.axvline(8, color=GREY, linewidth=0.8, linestyle=":")
    left.annotate("iteration 8", (8, 6.05), (4, 0), **SMALL_NOTE)
    name_axes(
        left, y="requests admitted an iteration", title="(a) decode lengths 2 and 3: gcd 1, decays"
    )

    envelope = data["envelope"]
    label = f"growing mode, ±{envelope[0]:.2f} · {data['growth']:.4f}$^n$"
    for sign in (1, -1):
        style = {"color": GREY, "linestyle": "--", "linewidth": 1.0}
        right.plot(n, x + sign * envelope, label=label if sign > 0 else None, **style)
    _trajectory(right, n, data["common_divisor_2"], x, ORANGE)
    right.set_title("(b) decode lengths 2 and 4: gcd 2, grows")
    right.legend(loc="upper left")
    right.set_ylim(1.7, 6.7)


def caption(data: Data) -> str:
    return (
        f"Requests admitted an iteration, input length {_INPUT}, equal shares, "
        f"x* = {data['equilibrium']:g}, start {_START}, from recurrence (9) in exact "
        "arithmetic. At the start the oldest cohort is smaller by as many tokens as the youngest "
        f"is larger. The dashed envelope is the growing mode alone, modulus "
        f"{data['growth']:.4f}. The 0.72 that the paper's caption gives to the limiting "
        "polynomial of (a) is the modulus at this input length; the limit is 0.707."
    )


def _trajectory(ax: Axes, n: np.ndarray, a: np.ndarray, x: float, color: str) -> None:
    zero_line(ax, x)
    ax.plot(n, a, color=color, linewidth=1.0, marker="o", markersize=3)
    ax.set_xlabel("iteration n")
    ax.margins(x=0.02)


def _system(lengths: tuple[int, int]) -> System:
    classes = tuple(RequestClass(_INPUT, length, _SHARE) for length in lengths)
    return System(Workload(classes), Fraction(_CAPACITY[lengths]))


FIGURE = Figure(
    id="congestion_figure_2",
    title="Coprime decode lengths damp an over-admission; a common divisor of 2 amplifies it",
    source="Congestion, Figure 2 and Examples 4 and 5",
    parameters={
        "input_length": _INPUT,
        "shares": [str(_SHARE), str(_SHARE)],
        "decode_lengths": [list(_COPRIME), list(_COMMON)],
        "capacities": list(_CAPACITY.values()),
        "start": _START,
        "iterations": _ITERATIONS,
        "seed": None,
    },
    size=(9.0, 3.6),
    data=data,
    draw=draw,
    caption=caption,
)
