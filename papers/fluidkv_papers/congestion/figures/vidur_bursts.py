"""Figures 31 and 32: evictions by burst factor on Vidur's machine, four policies, two engines."""

from functools import partial

import numpy as np

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, ORANGE, name_axes
from fluidkv_papers.congestion.claims.experiments import vidur_bursts as bursts
from fluidkv_papers.congestion.experiments import a100
from fluidkv_papers.congestion.experiments.printed_tables import TABLE_6, TABLE_7, Routed
from fluidkv_papers.congestion.figures.routed_lines import routed_line, zero_said

_POLICIES = {
    "apart.greedy": (ORANGE, "-", "o", "segregated"),
    "mixed.greedy": (BLUE, "-", "o", "mixed"),
    "apart.capped": (ORANGE, "--", "s", "segregated, capped at x*"),
    "mixed.capped": (BLUE, "--", "s", "mixed, capped at x*"),
}
_ENGINES = tuple(reversed(a100.ENGINES))


def _figure(number: int, title: str, case: Routed) -> Figure:
    """The paper's figure of this number."""

    return Figure(
        id=f"congestion_figure_{number}",
        title=title,
        source=f"Congestion, Figure {number}",
        parameters=_parameters(case),
        size=(9.0, 4.4),
        data=partial(_data, case),
        draw=_draw,
        caption=lambda data: f"{_open_settings(case)} {_told(data)}",
    )


def _data(case: Routed) -> Data:
    """As `bursts.evictions`: "ROUTING.ADMISSION.ENGINE" over "factor"."""
    found: dict[str, np.ndarray | float] = {"factor": np.array(bursts.FACTORS)}
    for engine in _ENGINES:
        for name, values in bursts.evictions(case, engine).items():
            found[f"{name}.{engine}"] = values
    return found


def _draw(data: Data, canvas: Canvas) -> None:
    """One panel an engine; linear up to one, so that zero has a place, and logarithmic above."""
    panels = canvas.subplots(1, 2, sharey=True)
    factor = data["factor"]
    for ax, engine in zip(panels, _ENGINES, strict=True):
        for name, (color, style, marker, said) in _POLICIES.items():
            every = np.array([data[f"{name}.{of}"] for of in _ENGINES])
            label = zero_said(said, every)
            look = {"color": color, "linestyle": style, "marker": marker, "label": label}
            routing, _ = name.split(".")
            routed_line(ax, factor, data[f"{name}.{engine}"], routing, **look)
        ax.set_xscale("log", base=2)
        ax.set_xticks(factor, [f"{f:g}" for f in factor])
        name_axes(ax, "arrivals in a burst over those between", title=engine)
    panels[0].set_yscale("symlog", linthresh=1)
    panels[0].set_yticks([0, 1, 10, 100], ["0", "1", "10", "100"])
    panels[0].set(
        ylim=(0, 1.5 * max(data[f"apart.greedy.{e}"].max() for e in _ENGINES)),
        ylabel="evictions for 1,000 requests",
    )
    canvas.legend(*panels[0].get_legend_handles_labels(), loc="outside lower left", ncols=2)


def _told(data: Data) -> str:
    """What the engines say at the smallest and the largest factor."""
    parts = []
    for engine in _ENGINES:
        of = {name: data[f"{name}.{engine}"] for name in _POLICIES}
        greedy = " and ".join(
            f"{of['apart.greedy'][i]:.1f} apart, {of['mixed.greedy'][i]:.1f} mixed at factor "
            f"{data['factor'][i]:g}"
            for i in (0, -1)
        )
        capped = max(of["apart.capped"].max(), of["mixed.capped"].max())
        parts.append(f"{engine}: {greedy}; at most {capped:.1f} with the cap")
    return "Evictions for 1,000 requests, " + ". ".join(parts) + "."


def _open_settings(case: Routed) -> str:
    return (
        f"Poisson arrivals, {bursts.rate_per_s(case):.1f} a second at each node in the mean "
        f"({bursts.LOAD:.0%} of what the pool serves), more by the factor in the first fifth of "
        f"every {bursts.period_s(case):g} s; {bursts.REQUESTS:,} requests at each node, classes by "
        "chance; time by a line through Vidur's decode batches. The paper prints none of these, "
        f"nor the lengths: those of Table {case.key}."
    )


def _parameters(case: Routed) -> dict[str, object]:
    return {
        "input_length": a100.INPUT,
        "decode_lengths": [list(lengths) for lengths in case.lengths],
        "requests": bursts.REQUESTS,
        "load": bursts.LOAD,
        "period_in_lifetimes": bursts.LIFETIMES,
        "window_part": bursts.PART,
        "factors": list(bursts.FACTORS),
        "cap": "x* of the node, to a thousandth",
        "engines": list(_ENGINES),
        "blocks": a100.BLOCKS,
        "block_size": a100.BLOCK_SIZE,
        "watermark": a100.WATERMARK,
        "batch_cap": a100.BATCH_CAP,
        "clock": [a100.BASE_S, a100.PER_KV_TOKEN_S],
        "seed": bursts.SEED,
    }


FIGURES = (
    _figure(
        31,
        "Under bursts the coprime pool evicts next to nothing; capped at x*, nobody does",
        TABLE_6,
    ),
    _figure(
        32,
        "With a divisor of 25 the pool still evicts under bursts; the cap at x* all but ends it",
        TABLE_7,
    ),
)
