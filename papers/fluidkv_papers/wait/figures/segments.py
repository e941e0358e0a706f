"""Figures 16 to 18: the three terms of the memory bound over the number of segments."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from fluidkv import wait
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, name_axes
from fluidkv.wait import theory
from fluidkv_papers.bands import plain_numbers
from fluidkv_papers.wait.figures import azure

INPUT = 62
PAPERS_SEGMENTS = 10  # of section 6.2, whose choice section 7.2 says the minimum validates
COUNTS = (*range(1, 31), *range(32, 61, 4))
_TERMS = (
    ("batch", BLUE, "o", "term 1, the batch"),
    ("queue", GREEN, "s", "term 2, queues"),
    ("tail", ORANGE, "^", "term 3, their tails"),
    ("total", BLACK, "x", "sum"),
    ("tightened", PURPLE, "", "sum, thresholds improved"),
)


@dataclass(frozen=True)
class Panel:
    """One side of a figure.

    Args:
        rate: prompts a second.
        horizon: T, hours.
        delta: chance of more memory.
    """

    rate: int
    horizon: int
    delta: Fraction

    @property
    def title(self) -> str:
        return f"{self.rate}/s, T = {self.horizon} h, delta = {float(self.delta):g}"


def _figure(number: int, title: str, *panels: Panel) -> Figure:
    """The paper's figure of this number, of two sides."""
    return Figure(
        id=f"wait_figure_{number}",
        title=title,
        source=f"WAIT, Figure {number} and section 7.2 (equation 17)",
        parameters=_parameters(panels),
        size=(9.5, 4.0),
        data=partial(data, panels),
        draw=partial(_draw, panels=panels),
        caption=lambda data: f"{_setting(data)} {_told(data, panels)}",
    )


def data(panels: tuple[Panel, ...], counts: tuple[int, ...] = COUNTS) -> Data:
    """Terms in tokens, "I.count", "I.batch", "I.queue", "I.tail", "I.total" of each panel I.

    Shapes: each (design,), where thresholds exist; "I.tightened" the sum with thresholds improved
    by a local search. Scalar: "I.equilibrium", M*.

    Raises:
        MissingInput: the trace is not there.
    """
    from fluidkv.wait.theory.design_search import tightened

    found: dict[str, np.ndarray | float] = {}
    for index, panel in enumerate(panels):
        system = azure.mix(INPUT).scaled(panel.rate)
        designs = theory.design.segment_designs(
            system, 3600 * panel.horizon, panel.delta, counts=counts
        )
        for name in ("count", "batch", "queue", "tail", "total"):
            values = [float(getattr(design, name)) for design in designs.designs]
            found[f"{index}.{name}"] = np.array(values)
        problem = theory.design.SegmentProblem(system, 3600 * panel.horizon, panel.delta)
        better = [tightened(problem, design).total for design in designs.designs]
        found[f"{index}.tightened"] = np.array(better)
        found[f"{index}.equilibrium"] = float(wait.fluid_equilibrium(system).memory)
    return {**found, "left_out": azure.left_out()}


def _draw(data: Data, canvas: Canvas, *, panels: tuple[Panel, ...]) -> None:
    axes = canvas.subplots(1, len(panels), sharey=True)
    for index, (ax, panel) in enumerate(zip(axes, panels, strict=True)):
        count = data[f"{index}.count"]
        for name, color, marker, label in _TERMS:
            values = data[f"{index}.{name}"] / 1e6
            ax.plot(
                count, values, color=color, marker=marker, markersize=3, linewidth=1.0, label=label
            )
        ax.axhline(
            data[f"{index}.equilibrium"] / 1e6,
            color=GREY,
            linewidth=0.9,
            linestyle=":",
            label="M*, the fluid equilibrium",
        )
        ax.axvline(
            PAPERS_SEGMENTS,
            color=GREY,
            linewidth=0.9,
            linestyle="--",
            label="segments of section 6",
        )
        total = data[f"{index}.total"] / 1e6
        best = int(total.argmin())
        ring = {"color": BLACK, "marker": "o", "markersize": 9, "fillstyle": "none"}
        ax.plot(count[best], total[best], linestyle="", **ring)
        least = f"least (ring): {total[best]:.2f} million at {count[best]:.0f}"
        name_axes(ax, "segments", title=f"{panel.title}; {least}")
        ax.set_xlim(left=0)
    axes[0].set_ylabel("million tokens")
    if all((data[f"{index}.tail"] > 0).all() for index in range(len(panels))):
        # spikes of seven times the least would leave the rest of a linear axis flat
        axes[0].set_yscale("log")
        plain_numbers(axes[0], decades=3)
    else:
        axes[0].set_ylim(0, None)
    canvas.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=3)


def _told(data: Data, panels: tuple[Panel, ...]) -> str:
    """What each panel shows, in numbers."""
    parts = []
    for index, panel in enumerate(panels):
        count, batch, queue, tail, total = (
            data[f"{index}.{name}"] for name in ("count", "batch", "queue", "tail", "total")
        )
        best = int(total.argmin())
        papers = total[count == PAPERS_SEGMENTS].item()
        over = int((batch < queue + tail).sum())
        better = data[f"{index}.tightened"]
        none = int(count.min()) - 1
        lacking = f", none exist below {none + 1}" if none else ""
        parts.append(
            f"{panel.title}: least at {count[best]:.0f} segments, {total[best]:,.0f} tokens "
            f"({total[best] / data[f'{index}.equilibrium']:.1f} M*), {total[0]:,.0f} at "
            f"{count[0]:.0f}{lacking}, {papers:,.0f} at {PAPERS_SEGMENTS}; "
            f"terms 2 and 3 together exceed term 1 at {over} of {count.size} numbers of segments; "
            f"with improved thresholds least at {count[better.argmin()]:.0f}, {better.min():,.0f}"
        )
    return ". ".join(parts) + "."


def _setting(data: Data) -> str:
    return (
        f"{azure.TOLD}: outputs of 1 to 500 tokens ({data['left_out']:.1%} longer ones "
        f"left out), inputs of {INPUT}; segments end at equal distances; thresholds are the least "
        "whole ones that satisfy (16) (violet: improved by a "
        "local search over the sum); the clock is Vidur's, 9.93 ms and 0.1656 us a token. The "
        "paper's rates, horizons and deltas are lost, and so are the digits of where it puts the "
        f"minimum, which it says validates the {PAPERS_SEGMENTS} segments of its section 6."
    )


def _parameters(panels: tuple[Panel, ...]) -> dict[str, object]:
    return {
        "trace": azure.FILE,
        "input_length": INPUT,
        "panels": [
            {"rate_per_s": p.rate, "horizon_h": p.horizon, "delta": str(p.delta)} for p in panels
        ],
        "segments": [COUNTS[0], COUNTS[-1]],
        "clock": ["9.93e-3", "1.656e-7"],
    }


_OFTEN, _RARELY = Fraction(1, 10), Fraction(1, 1000)
FIGURES = (
    _figure(
        16,
        "At 30 prompts/s the memory bound is least at 3 segments",
        Panel(30, 1, _OFTEN),
        Panel(30, 1, _RARELY),
    ),
    _figure(
        17,
        "At 100 prompts/s it is least at 11 segments, in no smooth U: tails can exceed the batch",
        Panel(100, 1, _OFTEN),
        Panel(100, 1, _RARELY),
    ),
    _figure(
        18,
        "At 60 prompts/s it is least at 4 segments; a hundred times the horizon costs little",
        Panel(60, 1, _OFTEN),
        Panel(60, 100, _OFTEN),
    ),
)
