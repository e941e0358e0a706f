"""Congestion, Figure 8: the whole cascade of Example 3, from a nudge to the worst cycle."""

from fractions import Fraction

import numpy as np

from fluidkv import exact
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import NOTE, ORANGE, PALE, STAGES, name_axes
from fluidkv.workload import RequestClass, System, Workload

_INPUT, _DECODE, _CAPACITY = 2, 3, 24
_START = (Fraction(5, 2), Fraction(2), Fraction(17, 10))
_ITERATIONS = 24
_FIRST_EVICTION, _WORST_CYCLE = 7, 17  # phases of the paper's caption; tests hold them to the data


def data() -> Data:
    """Masses x_0, x_1, x_2 at each n, and the tokens evicted by the iteration that led there."""
    system = System(Workload((RequestClass(_INPUT, _DECODE),)), Fraction(_CAPACITY))
    states, evicted, completed = [list(_START)], [Fraction(0)], [Fraction(0)]
    for _ in range(_ITERATIONS):
        step = exact.iterate(system, [states[-1]])
        states.append(step.state[0])
        evicted.append(sum((_weight(j) * e for j, e in enumerate(step.evicted[0])), Fraction(0)))
        completed.append(step.completed[0])
    masses = np.array(states, dtype=np.float64)
    return {
        "iteration": np.arange(_ITERATIONS + 1, dtype=np.float64),
        **{f"stage_{j}": masses[:, j] for j in range(_DECODE)},
        "evicted_tokens": np.array(evicted, dtype=np.float64),
        "completed": np.array(completed, dtype=np.float64),
    }


def draw(data: Data, canvas: Canvas) -> None:
    top, bottom = canvas.subplots(2, 1, sharex=True, height_ratios=[2.4, 1])
    n = data["iteration"]

    below = np.zeros_like(n)
    for j, color in enumerate(STAGES):
        tokens = _weight(j) * data[f"stage_{j}"]
        label = f"stage {j} ({_weight(j)} tokens each)"
        top.bar(n, tokens, 0.86, bottom=below, color=color, label=label)
        below += tokens
    top.set(ylabel="KV tokens held", ylim=(0, 1.32 * _CAPACITY), yticks=[0, 6, 12, 18, 24])
    top.legend(loc="upper center", ncols=3, bbox_to_anchor=(0.5, 1.0))

    evicted = data["evicted_tokens"]
    bottom.bar(n, evicted, 0.86, color=ORANGE)
    hit = np.flatnonzero(evicted)
    before = hit[hit < _WORST_CYCLE]
    for count, i in enumerate(before, start=1):
        bottom.annotate(f"#{count}", (n[i], evicted[i]), (0, 2), **_NOTE)
    name_axes(bottom, "iteration n", "tokens evicted")
    bottom.set(
        ylim=(0, 11.5), xticks=np.arange(0, _ITERATIONS + 1, 2), xlim=(-0.7, _ITERATIONS + 0.7)
    )
    for ax in (top, bottom):
        ax.axvspan(_FIRST_EVICTION - 0.5, _WORST_CYCLE - 0.5, color=PALE, zorder=0)
    for start, end, text in (
        (0, _FIRST_EVICTION, "no eviction, growing pulses"),
        (_FIRST_EVICTION, _WORST_CYCLE, "cascade"),
        (_WORST_CYCLE, _ITERATIONS + 1, "worst cycle"),
    ):
        top.annotate(text, ((start + end - 1) / 2, 1.06 * _CAPACITY), (0, 0), **_NOTE)


def caption(data: Data) -> str:
    completed = data["completed"][_WORST_CYCLE : _WORST_CYCLE + _DECODE].mean()
    evicted = data["evicted_tokens"]
    sizes = ", ".join(f"{e:.2f}" for e in evicted[evicted > 0][:4])
    return (
        f"Memory by decode stage for l0 = {_INPUT}, l1 = {_DECODE}, M = {_CAPACITY} from "
        f"({', '.join(map(str, _START))}), in exact arithmetic. Memory is full at every n. "
        f"Evictions #1 to #4 take {sizes} tokens. In the final cycle {completed:g} requests "
        "complete an iteration, against 2 at the equilibrium, and two of three iterations evict."
    )


_NOTE = NOTE | {"ha": "center"}


def _weight(stage: int) -> int:
    return _INPUT + 1 + stage


FIGURE = Figure(
    id="congestion_figure_8",
    title="A small nudge cascades into permanent eviction and a fifth less throughput",
    source="Congestion, Figure 8 and Example 3",
    parameters={
        "input_length": _INPUT,
        "decode_length": _DECODE,
        "capacity": _CAPACITY,
        "start": [str(x) for x in _START],
        "iterations": _ITERATIONS,
        "seed": None,
    },
    size=(8.0, 4.6),
    data=data,
    draw=draw,
    caption=caption,
)
