"""Congestion, Figure 12: with long inputs one eviction frees more than an iteration adds."""

from fractions import Fraction

import numpy as np

from fluidkv import exact
from fluidkv.exact.mass import memory_used
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE, SMALL_NOTE, name_axes
from fluidkv.workload import RequestClass, System, Workload

_BETA = Fraction(59, 5)  # M / l0, that of Examples 10 and 11
_LENGTHS, _SHARE = (2, 3), Fraction(1, 2)
_MARKED = 100
_INPUTS = (10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)


def data() -> Data:
    """Bounds of Lemma 20, and the literal model's first iteration from all memory in stage 0."""
    l0 = np.array(_INPUTS, dtype=np.float64)
    beta = float(_BETA)
    growth, evicted = zip(*(_burst(n) for n in _INPUTS), strict=True)
    return {
        "input_length": l0,
        "growth_bound": beta * l0 / (l0 + 1),
        "freed": l0 + 1,
        "evicted_bound": beta * l0 / (l0 + 1) ** 2,
        "growth_measured": np.array(growth, dtype=np.float64),
        "evicted_measured": np.array(evicted, dtype=np.float64),
        "beta": beta,
        "cleared": float(Fraction((_MARKED + 1) ** 2) / (_BETA * _MARKED)),
    }


def draw(data: Data, canvas: Canvas) -> None:
    left, right = canvas.subplots(1, 2)
    l0 = data["input_length"]

    left.plot(l0, data["freed"], color=BLUE, label="freed by one eviction, at least $l_0+1$")
    left.plot(l0, data["growth_bound"], color=ORANGE, label="added in an iteration, at most")
    left.plot(l0, data["growth_measured"], "o", color=ORANGE, markersize=3, label=_MEASURED)
    at = _INPUTS.index(_MARKED)
    low, high = data["growth_bound"][at], data["freed"][at]
    arrow = {"arrowstyle": "<->", "color": GREY, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
    left.annotate("", (_MARKED, low), (_MARKED, high), arrowprops=arrow)
    text = f"{data['cleared']:.1f} times"
    left.annotate(text, (_MARKED, (low * high) ** 0.5), (5, -3), **SMALL_NOTE)
    name_axes(left, y="tokens", title="(a) tokens added and freed", log="xy")

    right.plot(l0, data["evicted_bound"], color=BLUE, label="at most $βl_0/(l_0+1)^2$")
    right.plot(l0, data["evicted_measured"], "o", color=BLUE, markersize=3, label=_MEASURED)
    name_axes(right, y="requests evicted an iteration", title="(b) evicted requests", log="xy")
    for ax in (left, right):
        ax.set_xlabel("input length $l_0$, tokens")
        ax.legend(loc="upper left" if ax is left else "lower left")
    left.set_ylim(top=6000)


def caption(data: Data) -> str:
    share = data["evicted_measured"] / data["evicted_bound"]
    return (
        f"Memory is β = {data['beta']:g} input lengths. (a) At l0 = {_MARKED} one eviction "
        f"frees {data['cleared']:.2f} times what one iteration can add. (b) Bound on the "
        "requests that one iteration evicts. Points: the literal model, decode lengths 2 and 3, "
        "equal shares, from all memory in stage 0, the worst start. After the shift such requests "
        f"hold l0 + 2 tokens, so that it evicts (l0+1)/(l0+2) of the bound, {share[0]:.3f} at "
        f"l0 = {_INPUTS[0]}."
    )


_MEASURED = "literal model, all memory in stage 0"


def _burst(input_length: int) -> tuple[Fraction, Fraction]:
    """Tokens added and requests evicted by the first iteration from all memory in stage 0."""
    system = _system(input_length)
    admitted = system.capacity / (input_length + 1)
    state = [
        [c.share * admitted] + [Fraction(0)] * (c.decode_length - 1)
        for c in system.workload.classes
    ]
    step = exact.iterate(system, state)
    added = memory_used(system, step.executed) - system.capacity
    return added, sum((x for row in step.evicted for x in row), Fraction(0))


def _system(input_length: int) -> System:
    classes = tuple(RequestClass(input_length, n, _SHARE) for n in _LENGTHS)
    return System(Workload(classes), _BETA * input_length)


FIGURE = Figure(
    id="congestion_figure_12",
    title="Long inputs: one eviction frees far more than one iteration adds",
    source="Congestion, Figure 12 and Lemmas 20 and 21",
    parameters={
        "beta": str(_BETA),
        "decode_lengths": list(_LENGTHS),
        "shares": [str(_SHARE), str(_SHARE)],
        "input_lengths": list(_INPUTS),
        "marked": _MARKED,
        "seed": None,
    },
    size=(9.0, 3.6),
    data=data,
    draw=draw,
    caption=caption,
)
