"""Figures 16 to 18 and 21: sets of decode lengths side by side, from an empty server."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from fluidkv import exact, fluid
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE
from fluidkv_papers.congestion.experiments.nodes import unit_system

Lengths = tuple[int, ...]


def _figure(
    number: int,
    title: str,
    sets: Sequence[Lengths],
    *,
    iterations: int,
    input_length: int = 30,
    width: float = 11.0,
    capacity: int | None = None,
) -> Figure:
    """The paper's figure of this number; `capacity` if it prints one and an endless queue."""

    def caption(data: Data) -> str:
        queue = " with an endless queue" if capacity else ""
        scale = (
            f"The paper's M = {capacity} scales all masses alike."
            if capacity
            else "The paper does not print a capacity; masses scale with it, so none is needed "
            "here."
        )
        return (
            f"Requests admitted and evicted at each iteration, from an empty server{queue}, input "
            f"length {input_length}, equal shares. {_told(data, sets)} {scale} The counts of "
            "growing modes are certified."
        )

    return Figure(
        id=f"congestion_figure_{number}",
        title=title,
        source=f"Congestion, Figure {number}",
        parameters={
            "input_length": input_length,
            "shares": "equal",
            "decode_lengths": [list(s) for s in sets],
            "capacity": "sum of V_s (x* = 1)",
            **({"arrivals": "endless queue"} if capacity else {}),
            "start": "empty",
            "iterations": iterations,
            "seed": None,
        },
        size=(width, 4.2),
        data=partial(_data, sets, input_length, iterations),
        draw=partial(_draw, sets=sets),
        caption=caption,
    )


def _name(lengths: Lengths) -> str:
    return "_".join(map(str, lengths))


def _data(sets: Sequence[Lengths], input_length: int, iterations: int) -> Data:
    """Admissions and evictions of each set, and what is certified about its equilibrium.

    Masses are in units of x*. Keys: iteration; and for each set "NAME.admitted", "NAME.evicted",
    "NAME.growing" (roots of F outside the unit circle), "NAME.radius" (the largest modulus) and
    "NAME.completed" (an iteration, over the last quarter).
    """
    data: dict[str, np.ndarray | float] = {"iteration": np.arange(1.0, iterations + 1)}
    for lengths in sets:
        chosen = unit_system(lengths, input_length)
        model = fluid.cohort_model(chosen)
        found = fluid.simulate(model, fluid.empty_state(model), iterations=iterations)
        certificate = exact.certify_spectrum(exact.survival_weights(chosen.workload))
        if certificate.outside is None:
            raise ArithmeticError(f"the roots of {lengths} were not counted")
        key = _name(lengths)
        for flow in ("admitted", "evicted"):
            data[f"{key}.{flow}"] = found[flow].values[0, :, 0]
        data[f"{key}.growing"] = float(certificate.outside)
        data[f"{key}.radius"] = sum(certificate.radius) / 2
        data[f"{key}.completed"] = float(found.completed.values[0, -iterations // 4 :, 0].mean())
    return data


def _draw(data: Data, canvas: Canvas, sets: Sequence[Lengths]) -> None:
    """One column a set: admissions above, evictions below, one dot an iteration."""
    grid = canvas.subplots(
        2, len(sets), sharex=True, sharey="row", height_ratios=[2.2, 1], squeeze=False
    )
    n = data["iteration"]
    for column, lengths in enumerate(sets):
        top, bottom = grid[:, column]
        key = _name(lengths)
        growing = int(data[f"{key}.growing"])
        color = ORANGE if growing else BLUE
        dots = {"color": color, "linestyle": "", "marker": ".", "markersize": 2.2}
        top.plot(n, data[f"{key}.admitted"], **dots)
        top.axhline(1, color=GREY, linewidth=0.8)
        divisor = np.gcd.reduce(lengths)
        top.set_title(f"{{{', '.join(map(str, lengths))}}}: gcd {divisor}")
        told = "no growing mode" if growing == 0 else f"growing modes: {growing}"
        text = f"{told}\nlargest modulus {data[f'{key}.radius']:.4f}"
        top.text(0.97, 0.95, text, transform=top.transAxes, **_NOTE)
        bottom.plot(n, data[f"{key}.evicted"], **dots)
        bottom.set(xlabel="iteration n", xlim=(0, n[-1]), xticks=np.arange(0, n[-1], 100))
    # The burst into the empty server may be off the scale; all that follows is on it.
    later = max(data[f"{_name(s)}.admitted"][1:].max() for s in sets)
    grid[0, 0].set(ylim=(-0.1, 1.35 * later), ylabel="admitted, in units of x*")
    grid[1, 0].set_ylabel("evicted,\nunits of x*")


def _evicts_at_the_end(data: Data, lengths: Lengths) -> bool:
    """Whether anything was evicted in the last quarter."""
    evicted = data[f"{_name(lengths)}.evicted"]
    return bool(np.any(evicted[-len(evicted) // 4 :] > 0))


def _told(data: Data, sets: Sequence[Lengths]) -> str:
    """A sentence on each set."""
    sentences = []
    for lengths in sets:
        key = _name(lengths)
        off = np.abs(data[f"{key}.admitted"][-20:] - 1).max()
        last = f"{{{', '.join(map(str, lengths))}}}: "
        if _evicts_at_the_end(data, lengths):
            rate = data[f"{key}.completed"]
            last += f"still evicting in the end, {rate:.1%} of x* completed."
        else:
            last += (
                f"no eviction in the last quarter, admissions within {off:.1%} of x* at the end."
            )
        sentences.append(last)
    return " ".join(sentences)


_NOTE = {"ha": "right", "va": "top", "color": GREY, "fontsize": 8}

FIGURES = (
    _figure(
        16,
        "Lengths 4 and 7 damp the first burst; lengths 4 and 8 pulse and evict for good",
        ((4, 7), (4, 8)),
        input_length=40,
        iterations=400,
        width=9.0,
    ),
    _figure(
        17,
        "Three lengths without a common divisor settle at the equilibrium; with one they pulse",
        ((2, 7, 12), (2, 9, 12), (2, 8, 12)),
        iterations=600,
        width=10.0,
    ),
    _figure(
        18,
        "Two nodes that pulse apart settle when their lengths are mixed",
        ((6, 10), (9, 15), (6, 9, 10, 15)),
        iterations=720,
        capacity=600,
    ),
    _figure(
        21,
        "With a divisor of 5 left, the mixed node still pulses and evicts",
        ((20, 40), (25, 50), (20, 25, 40, 50)),
        iterations=800,
        capacity=1000,
    ),
)
