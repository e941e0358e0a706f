"""Figures 33 and 34: evictions by burst factor, routing and policy."""

from functools import partial

import numpy as np

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREEN, ORANGE, name_axes
from fluidkv_papers.congestion.claims.experiments import bursts
from fluidkv_papers.congestion.experiments.nodes import COPRIME, PARTIAL, Routing
from fluidkv_papers.congestion.figures.routed_lines import routed_line, zero_said

_FACTORS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5)
_POLICIES = {
    "greedy": ("greedy", ORANGE, "o"),
    "capped": ("capped at x*, a$_k$ = p$_k$a", BLUE, "s"),
    "queued": ("capped at x*, by queue", GREEN, "^"),
}


def _figure(number: int, title: str, routing: Routing, *, rate: float) -> Figure:
    """The paper's figure of this number; `rate` is the mean of requests at a node."""

    def caption(data: Data) -> str:
        first, second = (f"{{{', '.join(map(str, of))}}}" for of in routing.segregated)
        return (
            f"Lengths {first} and {second} on two nodes or mixed, M = {routing.capacity}, l0 = "
            f"{routing.input_length}, with a queue. Poisson arrivals, {rate:g} "
            f"request{'' if rate == 1 else 's'} an iteration at each node in the mean, more by the "
            "factor in the first 40 of 200 iterations and less in between. Means of 8 runs of "
            f"4,000 iterations. The paper prints none of these. {_told(data)}"
        )

    return Figure(
        id=f"congestion_figure_{number}",
        title=title,
        source=f"Congestion, Figure {number}",
        parameters={
            "capacity": routing.capacity,
            "input_length": routing.input_length,
            "decode_lengths": [list(of) for of in routing.segregated],
            "arrivals": "Poisson with periodic bursts, mean kept",
            "rate": rate,
            "period": 200,
            "window": 40,
            "factors": list(_FACTORS),
            "runs": 8,
            "iterations": 4000,
            "start": "empty",
            "form": "masses",
            "seed": 33,
        },
        size=(9.0, 4.4),
        data=partial(_data, routing),
        draw=_draw,
        caption=caption,
    )


def _data(routing: Routing) -> Data:
    """Keys "POLICY.apart" and "POLICY.mixed": requests evicted a node in a run, by factor."""
    data: dict[str, np.ndarray | float] = {"factor": np.array(_FACTORS)}
    for policy in _POLICIES:
        data[f"{policy}.apart"] = np.array(
            [bursts.segregated_evictions(routing, policy, factor=f) for f in _FACTORS]
        )
        data[f"{policy}.mixed"] = np.array(
            [bursts.mixed_evictions(routing, policy, factor=f) for f in _FACTORS]
        )
    return data


def _draw(data: Data, canvas: Canvas) -> None:
    """Linear up to one request, so that zero has a place, and logarithmic above."""
    ax = canvas.subplots()
    factor = data["factor"]
    for policy, (text, color, marker) in _POLICIES.items():
        for routing, said, style in (("apart", "segregated", "--"), ("mixed", "mixed", "-")):
            evicted = data[f"{policy}.{routing}"]
            label = zero_said(f"{text}, {said}", evicted)
            look = {"color": color, "linestyle": style, "marker": marker, "label": label}
            routed_line(ax, factor, evicted, routing, **look)
    ax.set_yscale("symlog", linthresh=1)
    name_axes(
        ax, "rate in a burst over the mean rate", "requests evicted a node in 4,000 iterations"
    )
    ax.set_ylim(0, 2 * data["greedy.apart"].max())
    canvas.legend(*ax.get_legend_handles_labels(), loc="outside lower left", ncols=2)


def _told(data: Data) -> str:
    """What the numbers say, in sentences."""
    saved = 1 - data["greedy.mixed"] / data["greedy.apart"]
    most, other = (
        max(data[f"{policy}.{r}"].max() for r in ("apart", "mixed"))
        for policy in ("capped", "queued")
    )
    limit = "evicts nothing" if most == 0 else f"evicts up to {most:g}"
    return (
        f"Under greedy admission mixing evicts {saved.min():.0%} to {saved.max():.0%} less. The "
        f"paper's cap x*, which admits classes in fixed proportions, {limit}. Where they are "
        f"admitted in proportion to what waits, the same cap leaves up to {other:.1f} evictions a "
        "node: when chance fills the queue with the longer requests, x* of those is too much."
    )


FIGURES = (
    _figure(
        33,
        "Under bursts coprime mixing evicts less, and the cap x* lets none be evicted",
        COPRIME,
        rate=1.0,
    ),
    _figure(
        34,
        "Under bursts partial mixing evicts somewhat less, and the cap x* lets none be evicted",
        PARTIAL,
        rate=0.35,
    ),
)
