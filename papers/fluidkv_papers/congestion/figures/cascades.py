"""Figures 6, 8 and 9: one class, and how a small imbalance cascades into evictions for good."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fluidkv import exact
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, NOTE, ORANGE, PALE, STAGES, name_axes, zero_line
from fluidkv.workload import RequestClass, System, Workload
from fluidkv_papers.congestion.claims.one_class import figure_9

# Example 3, of Figures 6 and 8.
_INPUT, _DECODE, _CAPACITY = 2, 3, 24
_START = (Fraction(5, 2), Fraction(2), Fraction(17, 10))
_SYSTEM = System(Workload((RequestClass(_INPUT, _DECODE),)), Fraction(_CAPACITY))
_PARAMETERS = {
    "input_length": _INPUT,
    "decode_length": _DECODE,
    "capacity": _CAPACITY,
    "start": [str(x) for x in _START],
    "seed": None,
}
_SHOWN, _SHOWN_9 = 24, 30  # iterations
FIRST_EVICTION, WORST_CYCLE = 7, 17  # phases of the paper's caption; tests hold them to the data
_FOUR_STAGES = ("#D8ECF7", "#8FC1E3", "#3B7FB6", "#123C69")  # light to dark, early to late


def _tokens_each(stage: int) -> int:
    return _INPUT + 1 + stage


# --- Figure 6: until memory is exhausted ----------------------------------------------------------


def _growth_data() -> Data:
    """Admissions that balance (2) asks for, up to the first that is negative, and the spread.

    The spread is that of the model, which stops at the first eviction with the last state before.
    """
    found = exact.cascade(exact.trajectory(_SYSTEM, _START, iterations=20), _SYSTEM)
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
        "equilibrium": float(exact.eviction_free_equilibrium(_SYSTEM).rate),
        "growth": float(Fraction(peak, _INPUT + 1)) ** 0.5,  # |z|^2 is the product of both roots
    }


def _growth_draw(data: Data, canvas: Canvas) -> None:
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
    asked = f"n = {n[-1]:.0f}: {admission[-1]:.2f} asked for,\nrequests are evicted instead"
    left.annotate(asked, (n[-1], admission[-1]), (4, -28), **NOTE, ha="right", va="center")
    left.annotate("x*", (n[-1], x), (-2, 3), **NOTE)
    name_axes(left, y="requests admitted an iteration", title="(a) the next admission")
    left.set_ylim(-3, 6)
    left.legend(loc="upper left")

    right.step(n[:-1], spread[:-1], where="mid", color=GREY, linewidth=0.8)
    right.plot(n[:-1], spread[:-1], color=BLUE, marker="o", markersize=4, linestyle="none")
    right.axvline(n[-1], color=ORANGE, linewidth=1.0, linestyle=":")
    right.annotate("first eviction", (n[-1], 0.3), (-4, 0), **NOTE, ha="right")
    name_axes(right, y="requests", title="(b) the spread, largest minus smallest stage")
    right.set_ylim(0, 4)
    for ax in (left, right):
        ax.set(xlabel="iteration n", xlim=(-0.3, n[-1] + 0.3))


def _growth_caption(data: Data) -> str:
    n, spread = data["iteration"], data["spread"]
    return (
        f"l0 = {_INPUT}, l1 = {_DECODE}, M = {_CAPACITY} from ({', '.join(map(str, _START))}), in "
        "exact arithmetic. (a) Admissions that keep memory full without eviction; the dashed "
        "envelope grows by the modulus of the two modes, sqrt(5/3) = "
        f"{data['growth']:.3f}, and touches the largest deviation. At n = {n[-1]:.0f} the "
        f"balance asks for {data['admission'][-1]:.3f} requests. (b) The spread never falls "
        f"before, from {spread[0]:g} to {spread[-2]:.2f}."
    )


# --- Figure 8: to the worst cycle -----------------------------------------------------------------


def _three_data() -> Data:
    """Masses x_0, x_1, x_2 at each n, and the tokens evicted by the iteration that led there."""
    states, evicted, completed = [list(_START)], [Fraction(0)], [Fraction(0)]
    for _ in range(_SHOWN):
        step = exact.iterate(_SYSTEM, [states[-1]])
        states.append(step.state[0])
        tokens = (_tokens_each(j) * e for j, e in enumerate(step.evicted[0]))
        evicted.append(sum(tokens, Fraction(0)))
        completed.append(step.completed[0])
    return {
        "iteration": np.arange(_SHOWN + 1, dtype=np.float64),
        **_by_stage(states),
        "evicted_tokens": np.array(evicted, dtype=np.float64),
        "completed": np.array(completed, dtype=np.float64),
    }


def _three_draw(data: Data, canvas: Canvas) -> None:
    top, bottom = _memory_and_evictions(data, canvas, STAGES, "stage {} ({} tokens each)")
    top.set(ylim=(0, 1.32 * _CAPACITY), yticks=[0, 6, 12, 18, 24])
    top.legend(loc="upper center", ncols=3, bbox_to_anchor=(0.5, 1.0))
    n, evicted = data["iteration"], data["evicted_tokens"]
    hit = np.flatnonzero(evicted)
    for count, i in enumerate(hit[hit < WORST_CYCLE], start=1):
        bottom.annotate(f"#{count}", (n[i], evicted[i]), (0, 2), **NOTE, ha="center")
    bottom.set_ylim(0, 11.5)
    for ax in (top, bottom):
        ax.axvspan(FIRST_EVICTION - 0.5, WORST_CYCLE - 0.5, color=PALE, zorder=0)
    for start, end, text in (
        (0, FIRST_EVICTION, "no eviction, growing pulses"),
        (FIRST_EVICTION, WORST_CYCLE, "cascade"),
        (WORST_CYCLE, _SHOWN + 1, "worst cycle"),
    ):
        top.annotate(text, ((start + end - 1) / 2, 1.06 * _CAPACITY), (0, 0), **NOTE, ha="center")


def _three_caption(data: Data) -> str:
    completed = data["completed"][WORST_CYCLE : WORST_CYCLE + _DECODE].mean()
    evicted = data["evicted_tokens"]
    sizes = ", ".join(f"{e:.2f}" for e in evicted[evicted > 0][:4])
    return (
        f"Memory by decode stage for l0 = {_INPUT}, l1 = {_DECODE}, M = {_CAPACITY} from "
        f"({', '.join(map(str, _START))}), in exact arithmetic. Memory is full at every n. "
        f"Evictions #1 to #4 take {sizes} tokens. In the final cycle {completed:g} requests "
        "complete an iteration, against 2 at the equilibrium, and two of three iterations evict."
    )


# --- Figure 9: four stages ------------------------------------------------------------------------


def _four_data() -> Data:
    """Masses by stage, empty stages, tokens evicted on the way to each n, and the phases."""
    system = figure_9.SYSTEM
    found = exact.cascade(exact.trajectory(system, figure_9.START, iterations=_SHOWN_9), system)
    if found.settled is None:
        raise ArithmeticError("not settled")
    evicted = np.zeros(_SHOWN_9 + 1)
    for event in found.evictions:
        evicted[event.iteration] = float(event.tokens)
    return {
        "iteration": np.arange(_SHOWN_9 + 1, dtype=np.float64),
        **_by_stage(found.states),
        "evicted_tokens": evicted,
        "empty_stages": np.array(found.levels, dtype=np.float64),
        "losses": np.array([s.iteration for s in found.support_losses], dtype=np.float64),
        "throughput": float(found.throughput),
        "equilibrium": float(Fraction(system.capacity) / sum(map(_tokens_each, range(4)))),
        "capacity": float(system.capacity),
    }


def _four_draw(data: Data, canvas: Canvas) -> None:
    top, bottom = _memory_and_evictions(data, canvas, _FOUR_STAGES, "stage {}, {} tokens each")
    n, capacity, losses = data["iteration"], data["capacity"], data["losses"]
    top.set(ylim=(0, 1.34 * capacity), yticks=[0, 12, 24, 36, 48])
    top.legend(loc="upper center", ncols=4, bbox_to_anchor=(0.5, 1.03), columnspacing=1.2)
    evicted = data["evicted_tokens"]
    for i in np.flatnonzero(evicted[: int(losses[-1]) + 1]):
        bottom.annotate(f"{i}", (n[i], evicted[i]), (0, 2), **NOTE, ha="center")
    bottom.set_ylim(0, 1.25 * evicted.max())
    starts, ends = [0.0, *losses], [*losses, n[-1] + 1]
    for level, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if level % 2:
            for ax in (top, bottom):
                ax.axvspan(start - 0.5, end - 0.5, color=PALE, zorder=0)
        text = "all stages occupied" if level == 0 else f"{level} empty"
        top.annotate(text, ((start + end - 1) / 2, 1.06 * capacity), (0, 0), **NOTE, ha="center")


def _four_caption(data: Data) -> str:
    losses, evicted = data["losses"], data["evicted_tokens"]
    at = ", ".join(str(i) for i in np.flatnonzero(evicted[: int(losses[-1]) + 1]))
    share = data["throughput"] / data["equilibrium"]
    return (
        f"Memory by decode stage for l0 = {_INPUT}, l1 = 4, M = "
        f"{data['capacity']:g}, in exact arithmetic. The start has half a request more "
        "than the equilibrium at stage 0, and the last stage gives back the memory, as in Example "
        "3; the paper does not say so, and other readings of its start give other iterations. "
        f"Evictions before the last cycle lead to n = {at}; a stage goes empty for good at n = "
        f"{', '.join(f'{x:g}' for x in losses)}. At n = 20 stage 1 still holds "
        f"{data['stage_1'][20]:.2f} requests, too few to be seen. The last cycle completes "
        f"{data['throughput']:g} requests an iteration, {share:.0%} of the equilibrium."
    )


def _by_stage(states: Sequence[Sequence[object]]) -> Data:
    masses = np.array(states, dtype=np.float64)
    return {f"stage_{j}": masses[:, j] for j in range(masses.shape[1])}


def _memory_and_evictions(
    data: Data, canvas: Canvas, shades: Sequence[str], label: str
) -> tuple[Axes, Axes]:
    """Tokens by stage, one on top of the other; below them what was evicted."""
    top, bottom = canvas.subplots(2, 1, sharex=True, height_ratios=[2.4, 1])
    n = data["iteration"]
    below = np.zeros_like(n)
    for j, color in enumerate(shades):
        tokens = _tokens_each(j) * data[f"stage_{j}"]
        words = label.format(j, _tokens_each(j))
        top.bar(n, tokens, 0.86, bottom=below, color=color, label=words)
        below += tokens
    top.set_ylabel("KV tokens held")
    bottom.bar(n, data["evicted_tokens"], 0.86, color=ORANGE)
    name_axes(bottom, "iteration n", "tokens evicted")
    bottom.set(xticks=np.arange(0, len(n), 2), xlim=(-0.7, n[-1] + 0.7))
    return top, bottom


FIGURES = (
    Figure(
        id="congestion_figure_6",
        title="A small imbalance grows until the surviving requests alone overflow memory",
        source="Congestion, Figure 6 and Example 3",
        parameters=_PARAMETERS,
        size=(9.0, 3.6),
        data=_growth_data,
        draw=_growth_draw,
        caption=_growth_caption,
    ),
    Figure(
        id="congestion_figure_8",
        title="A small nudge cascades into permanent eviction and a fifth less throughput",
        source="Congestion, Figure 8 and Example 3",
        parameters=_PARAMETERS | {"iterations": _SHOWN},
        size=(8.0, 4.6),
        data=_three_data,
        draw=_three_draw,
        caption=_three_caption,
    ),
    Figure(
        id="congestion_figure_9",
        title="With four stages the cascade takes three steps, and a quarter of the throughput",
        source="Congestion, Figure 9 and Appendix A.1",
        parameters=_PARAMETERS
        | {
            "decode_length": 4,
            "capacity": 48,
            "start": ["19/6", "8/3", "8/3", "29/12"],
            "iterations": _SHOWN_9,
        },
        size=(9.0, 4.6),
        data=_four_data,
        draw=_four_draw,
        caption=_four_caption,
    ),
)
