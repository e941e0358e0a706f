"""Congestion, Figure 9: the whole cascade with four decode stages."""

from fractions import Fraction

import numpy as np

from fluidkv import exact
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import NOTE, ORANGE, PALE, name_axes
from fluidkv.papers.congestion.claims.one_class.figure_9 import START, SYSTEM

_INPUT, _DECODE = 2, 4
_ITERATIONS = 30
_STAGES = ("#D8ECF7", "#8FC1E3", "#3B7FB6", "#123C69")  # light to dark, early to late


def data() -> Data:
    """Masses by stage, empty stages, tokens evicted on the way to each n, and the phases."""
    found = exact.cascade(exact.trajectory(SYSTEM, START, iterations=_ITERATIONS), SYSTEM)
    if found.settled is None:
        raise ArithmeticError("not settled")
    evicted = np.zeros(_ITERATIONS + 1)
    for event in found.evictions:
        evicted[event.iteration] = float(event.tokens)
    masses = np.array(found.states, dtype=np.float64)
    return {
        "iteration": np.arange(_ITERATIONS + 1, dtype=np.float64),
        **{f"stage_{j}": masses[:, j] for j in range(_DECODE)},
        "evicted_tokens": evicted,
        "empty_stages": np.array(found.levels, dtype=np.float64),
        "losses": np.array([s.iteration for s in found.support_losses], dtype=np.float64),
        "throughput": float(found.throughput),
        "equilibrium": float(Fraction(SYSTEM.capacity) / sum(map(_weight, range(_DECODE)))),
        "capacity": float(SYSTEM.capacity),
    }


def draw(data: Data, canvas: Canvas) -> None:
    top, bottom = canvas.subplots(2, 1, sharex=True, height_ratios=[2.4, 1])
    n, capacity = data["iteration"], data["capacity"]
    losses = data["losses"]

    below = np.zeros_like(n)
    for j, color in enumerate(_STAGES):
        tokens = _weight(j) * data[f"stage_{j}"]
        label = f"stage {j}, {_weight(j)} tokens each"
        top.bar(n, tokens, 0.86, bottom=below, color=color, label=label)
        below += tokens
    top.set(ylabel="KV tokens held", ylim=(0, 1.34 * capacity), yticks=[0, 12, 24, 36, 48])
    top.legend(loc="upper center", ncols=4, bbox_to_anchor=(0.5, 1.03), columnspacing=1.2)

    evicted = data["evicted_tokens"]
    bottom.bar(n, evicted, 0.86, color=ORANGE)
    for i in np.flatnonzero(evicted[: int(losses[-1]) + 1]):
        bottom.annotate(f"{i}", (n[i], evicted[i]), (0, 2), **_NOTE)
    name_axes(bottom, "iteration n", "tokens evicted")
    bottom.set(
        ylim=(0, 1.25 * evicted.max()),
        xticks=np.arange(0, _ITERATIONS + 1, 2),
        xlim=(-0.7, _ITERATIONS + 0.7),
    )

    starts, ends = [0.0, *losses], [*losses, n[-1] + 1]
    for level, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if level % 2:
            for ax in (top, bottom):
                ax.axvspan(start - 0.5, end - 0.5, color=PALE, zorder=0)
        text = "all stages occupied" if level == 0 else f"{level} empty"
        top.annotate(text, ((start + end - 1) / 2, 1.06 * capacity), (0, 0), **_NOTE)


def caption(data: Data) -> str:
    losses, evicted = data["losses"], data["evicted_tokens"]
    at = ", ".join(str(i) for i in np.flatnonzero(evicted[: int(losses[-1]) + 1]))
    share = data["throughput"] / data["equilibrium"]
    return (
        f"Memory by decode stage for l0 = {_INPUT}, l1 = {_DECODE}, M = "
        f"{data['capacity']:g}, in exact arithmetic. The start has half a request more "
        "than the equilibrium at stage 0, and the last stage gives back the memory, as in Example "
        "3; the paper does not say so, and other readings of its start give other iterations. "
        f"Evictions before the last cycle lead to n = {at}; a stage goes empty for good at n = "
        f"{', '.join(f'{x:g}' for x in losses)}. At n = 20 stage 1 still holds "
        f"{data['stage_1'][20]:.2f} requests, too few to be seen. The last cycle completes "
        f"{data['throughput']:g} requests an iteration, {share:.0%} of the equilibrium."
    )


_NOTE = NOTE | {"ha": "center"}


def _weight(stage: int) -> int:
    return _INPUT + 1 + stage


FIGURE = Figure(
    id="congestion_figure_9",
    title="With four stages the cascade takes three steps, and a quarter of the throughput",
    source="Congestion, Figure 9 and Appendix A.1",
    parameters={
        "input_length": _INPUT,
        "decode_length": _DECODE,
        "capacity": 48,
        "start": ["19/6", "8/3", "8/3", "29/12"],
        "iterations": _ITERATIONS,
        "seed": None,
    },
    size=(9.0, 4.6),
    data=data,
    draw=draw,
    caption=caption,
)
