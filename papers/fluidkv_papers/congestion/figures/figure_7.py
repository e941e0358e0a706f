"""Congestion, Figure 7: an eviction block and two block-ends of the adjacent level-2 orbit."""

from fractions import Fraction

import numpy as np

from fluidkv import exact
from fluidkv.exact.one_class.positions import position_at
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, name_axes
from fluidkv.workload import RequestClass, System, Workload

_INPUT, _DECODE, _CAPACITY = 2, 4, 63
_START = (17, 3, 0, 0)
_POSITIONS = (BLUE, ORANGE)  # a live position keeps its colour


def data() -> Data:
    """One round by stage and relative position, and the two block-ends.

    Names end in the iteration, `_n0` ... `_n4`: `masses` by stage, `label` the relative position
    that a stage holds, `evicted` and `completed` on the way to the next state. For each block-end:
    `gap`, `mass` and `normalized`, youngest first.
    """
    system = System(Workload((RequestClass(_INPUT, _DECODE),)), Fraction(_CAPACITY))
    found = exact.cascade(exact.trajectory(system, _START, iterations=_DECODE), system)
    evicted = {e.iteration: float(e.requests) for e in found.evictions}
    table: dict[str, np.ndarray] = {}
    for n in range(_DECODE + 1):
        table[f"masses_n{n}"] = np.array(found.states[n], dtype=np.float64)
        labels = [position_at(j, n, _DECODE) for j in range(_DECODE)]
        table[f"label_n{n}"] = np.array(labels, dtype=np.float64)
    table["evicted"] = np.array([evicted.get(n + 1, 0.0) for n in range(_DECODE)])
    table["completed"] = np.array([found.states[n][-1] for n in range(_DECODE)], dtype=np.float64)
    ends = [n for n in found.block_ends if n < _DECODE]
    table["block_ends"] = np.array(ends, dtype=np.float64)
    for n in ends:
        masses = [x for x in found.states[n] if x]
        table[f"gap_n{n}"] = np.array(found.gaps[n], dtype=np.float64)
        table[f"mass_n{n}"] = np.array(masses, dtype=np.float64)
        table[f"normalized_n{n}"] = np.array(found.normalized[n], dtype=np.float64)
    return table


def draw(data: Data, canvas: Canvas) -> None:
    rows = canvas.add_gridspec(2, 1, height_ratios=[1.5, 1])
    orbit = rows[0].subgridspec(1, _DECODE + 1).subplots(sharey=True, squeeze=False)[0]
    ends = rows[1].subgridspec(1, 2).subplots(sharey=True, squeeze=False)[0]
    block_ends = data["block_ends"].astype(int)
    colors = _colors(data)
    for n, ax in enumerate(orbit):
        _state(ax, data, n, colors, framed=n % _DECODE in block_ends)
    orbit[0].set(ylabel="requests", ylim=(0, 23))
    for n, evicted in enumerate(data["evicted"]):
        completed = data["completed"][n]
        text = f"evicts {evicted:g} →" if evicted else f"completes {completed:g} →"
        orbit[n].annotate(text, (1.5, 20.3), **_CENTRED)
    for n, ax in zip(block_ends, ends, strict=True):
        _block_end(ax, data, n, colors)
    ends[0].set_ylabel("requests")


def caption(data: Data) -> str:
    evicted = [f"{e:g}" for e in data["evicted"] if e]
    return (
        f"The adjacent orbit at eviction level 2 for l0 = {_INPUT}, l1 = {_DECODE}, "
        f"M = {_CAPACITY}. (a) By stage; a live position keeps its colour. From n = 0 to 2 the "
        f"youngest batch alone is evicted, {' and then '.join(evicted)} requests, and nothing "
        "completes; from 2 to 4 a live position completes in each iteration and its place is "
        "filled. Green frames: block-ends, the states with a live position in the last stage. (b) "
        "Both block-ends: each mass over its predecessor gap is 3, so the spread is 0 and the "
        "orbit repeats. Not every block-end follows an eviction: the one at n = 3 does not."
    )


def _colors(data: Data) -> dict[int, str]:
    """Colour of each live label, the youngest at n = 0 first."""
    masses, labels = data["masses_n0"], data["label_n0"].astype(int)
    return dict(zip(labels[masses > 0], _POSITIONS, strict=True))


def _state(ax: Axes, data: Data, n: int, colors: dict[int, str], *, framed: bool) -> None:
    masses, labels = data[f"masses_n{n}"], data[f"label_n{n}"].astype(int)
    for stage in np.flatnonzero(masses):
        ax.bar(stage, masses[stage], 0.8, color=colors[labels[stage]])
        ax.annotate(f"{masses[stage]:g}", (stage, masses[stage]), (0, 2), **_OFFSET)
    name_axes(ax, "stage", title=("(a)  " if n == 0 else "") + f"n = {n}")
    ax.set(xticks=range(_DECODE), xlim=(-0.6, _DECODE - 0.4))
    if framed:
        for side in ("left", "right", "top", "bottom"):
            ax.spines[side].set(visible=True, color=GREEN, linewidth=2)


def _block_end(ax: Axes, data: Data, n: int, colors: dict[int, str]) -> None:
    """Each live position with its gap as a bracket from the live position before it."""
    gaps, masses = data[f"gap_n{n}"], data[f"mass_n{n}"]
    labels = data[f"label_n{n}"].astype(int)
    normalized = data[f"normalized_n{n}"]
    reached = -1.0
    for gap, mass, u in zip(gaps, masses, normalized, strict=True):
        stage = reached + gap
        ax.axvspan(reached + 0.54, stage + 0.46, color=PALE, zorder=0)
        ax.bar(stage, mass, 0.5, color=colors[labels[int(stage)]])
        text = f"gap {gap:g}\n{mass:g} / {gap:g} = {u:g}"
        ax.annotate(text, ((reached + 1 + stage) / 2, 10.2), **_CENTRED)
        reached = stage
    name_axes(
        ax, "stage", title=("(b)  " if n == data["block_ends"][0] else "") + f"block-end n = {n}"
    )
    ax.set(xlim=(-0.6, _DECODE - 0.4), xticks=range(_DECODE), ylim=(0, 14))


_CENTRED = {"color": BLACK, "fontsize": 8.5, "ha": "center"}
_OFFSET = {"textcoords": "offset points", "color": GREY, "fontsize": 8.5, "ha": "center"}

FIGURE = Figure(
    id="congestion_figure_7",
    title="A balanced orbit: evicted while it ages, renewed as each live position completes",
    source="Congestion, Figure 7 and Example 6",
    parameters={
        "input_length": _INPUT,
        "decode_length": _DECODE,
        "capacity": _CAPACITY,
        "start": list(_START),
        "seed": None,
    },
    size=(9.0, 5.0),
    data=data,
    draw=draw,
    caption=caption,
)
