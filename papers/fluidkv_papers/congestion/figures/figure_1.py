"""Congestion, Figure 1: throughput of every balanced cycle, by eviction level."""

import numpy as np

from fluidkv import exact
from fluidkv.exact.one_class.cycles_verified import verify_cycle
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, NOTE, ORANGE, PALE, name_axes, zero_line
from fluidkv.workload import RequestClass, System, Workload

_INPUT, _DECODE = 2, 12
_CAPACITY = 1000  # any other gives the same shares of x*
_MARKED = 8  # the level that the paper's caption speaks of


def data() -> Data:
    """Throughput over x*: of each cycle, and by level of the contiguous and the most even one."""
    found = exact.equilibria(System(Workload((RequestClass(_INPUT, _DECODE),)), _CAPACITY))
    if not all(verify_cycle(found.system, cycle) for cycle in found.cycles):
        raise ArithmeticError("a cycle does not close")
    share = [cycle.throughput / found.best for cycle in found.cycles]
    return {
        "level": np.array([point.level for point in found.envelope], dtype=np.float64),
        "contiguous": np.array([p.lowest / found.best for p in found.envelope], dtype=np.float64),
        "as_evenly_spaced": np.array(
            [p.highest / found.best for p in found.envelope], dtype=np.float64
        ),
        "cycle_level": np.array([cycle.level for cycle in found.cycles], dtype=np.float64),
        "cycle": np.array(share, dtype=np.float64),
        "worst_case_ratio": float(found.worst_case_ratio),
    }


def draw(data: Data, canvas: Canvas) -> None:
    ax = canvas.subplots()
    level, low, high = (data[name] for name in ("level", "contiguous", "as_evenly_spaced"))
    ax.fill_between(level, 100 * low, 100 * high, color=PALE, zorder=0)
    ax.plot(
        data["cycle_level"],
        100 * data["cycle"],
        linestyle="none",
        marker="o",
        markersize=3,
        color=GREY,
        label="every other cycle",
    )
    line = {"marker": "o", "markersize": 4.5}
    ax.plot(level, 100 * high, color=BLUE, label="gaps as even as can be (most)", **line)
    ax.plot(level, 100 * low, color=ORANGE, label="one contiguous block (least)", **line)
    zero_line(ax, 100)
    ax.annotate("fixed point, no eviction", (0, 100), (6, 5), **NOTE)
    worst = 100 * data["worst_case_ratio"]
    ax.annotate(f"worst case, {worst:.1f} %", (level[-1], worst), (2, -13), ha="right", **NOTE)
    marked = level.tolist().index(_MARKED)
    ends = (100 * low[marked], 100 * high[marked])
    ax.annotate("", (_MARKED, ends[0]), xytext=(_MARKED, ends[1]), arrowprops=_ARROW)
    width = f"{ends[1] - ends[0]:.1f}\npoints"
    ax.annotate(width, (_MARKED, sum(ends) / 2), (-5, 2), ha="right", va="center", **NOTE)
    name_axes(ax, f"eviction level: empty stages out of {_DECODE}", "throughput, % of x*")
    ax.set(xticks=level, ylim=(57, 104))
    ax.legend(loc="lower left")


def caption(data: Data) -> str:
    widths = 100 * (data["as_evenly_spaced"] - data["contiguous"])
    levels = data["level"]
    widest = int(np.argmax(widths))
    *meeting, last = [
        f"{level:.0f}" for level, width in zip(levels, widths, strict=True) if not width
    ]
    return (
        f"Throughput of all {len(data['cycle'])} balanced cycles for l0 = {_INPUT}, "
        f"l1 = {_DECODE}, as a share of the eviction-free fixed point's, each cycle verified by "
        "running the model once round in exact arithmetic. A dot may stand for several cycles. "
        f"The two curves are {widths[_MARKED]:.2f} % of x* apart at level {_MARKED}, and "
        f"{widths[widest]:.2f} % at level {levels[widest]:.0f}, where they are furthest apart. "
        f"They meet at the levels {', '.join(meeting)} and {last}, which have one cycle each."
    )


_ARROW = {"arrowstyle": "<->", "color": GREY, "linewidth": 0.9, "shrinkA": 3, "shrinkB": 3}

FIGURE = Figure(
    id="congestion_figure_1",
    title="The same number of empty stages costs little or much, by where they are",
    source="Congestion, Figure 1",
    parameters={
        "input_length": _INPUT,
        "decode_length": _DECODE,
        "capacity": _CAPACITY,
        "seed": None,
    },
    size=(7.0, 4.2),
    data=data,
    draw=draw,
    caption=caption,
)
