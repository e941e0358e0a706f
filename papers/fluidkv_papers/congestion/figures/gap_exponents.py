"""Spectral gap of three and four classes against the longest decode length: the open exponents."""

import numpy as np

from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE, SMALL_NOTE, name_axes, zero_line
from fluidkv_papers.congestion.claims.mixed import gap_exponents as exponents

_SIZES = (32, 64, 128, 256, 512, 1024)
_DRAWS = 60


def data() -> Data:
    """gap / bound of each draw, medians, fits, and of two families with a resonance."""
    from fractions import Fraction

    numbers: dict[str, np.ndarray | float] = {"size": np.array(_SIZES, dtype=np.float64)}
    for classes in (3, 4):
        shares = (Fraction(1, classes),) * classes
        drawn = [exponents.drawn_gaps(classes, n, _DRAWS) for n in _SIZES]
        medians = [float(np.median([value for value, _ in rows])) for rows in drawn]
        lowest = [min(value for value, _ in rows) for rows in drawn]
        shares_of_bound = [[share for _, share in rows] for rows in drawn]
        consecutive = [tuple(range(n - classes + 1, n + 1)) for n in _SIZES]
        numbers |= {
            f"draw_size_{classes}": np.repeat(np.array(_SIZES, dtype=np.float64), _DRAWS),
            f"draws_{classes}": np.array(shares_of_bound).ravel(),
            f"median_{classes}": np.median(np.array(shares_of_bound), axis=1),
            f"exponent_median_{classes}": exponents.fitted_exponent(_SIZES, medians),
            f"exponent_least_{classes}": exponents.fitted_exponent(_SIZES, lowest),
            f"consecutive_{classes}": np.array(
                [
                    exponents.gap(lengths, shares) / exponents.upper_bound(lengths, shares)
                    for lengths in consecutive
                ]
            ),
        }
    return numbers


def draw(data: Data, canvas: Canvas) -> None:
    left, right = canvas.subplots(1, 2, sharey=True)
    for classes, ax in ((3, left), (4, right)):
        _panel(data, ax, classes)
    left.set_ylabel("gap, as a part of the upper bound")
    left.legend(loc="lower left")


def _panel(data: Data, ax: Axes, classes: int) -> None:
    size = data["size"]
    # spread a little so that draws of one size can be told apart; fixed, not random
    wobble = 2 ** (0.5 * (np.tile(np.arange(_DRAWS), len(size)) / _DRAWS - 0.5))
    x = data[f"draw_size_{classes}"] * wobble
    ax.plot(x, data[f"draws_{classes}"], ".", color=GREY, markersize=2.5, label="a draw")
    ax.plot(size, data[f"median_{classes}"], "o-", color=BLUE, label="median of draws")
    together = data[f"consecutive_{classes}"]
    ax.plot(size, together, "s--", color=ORANGE, markersize=4, label="consecutive lengths")
    zero_line(ax, 1)
    ax.annotate("upper bound", (size[0], 1), (0, 3), **SMALL_NOTE)
    ax.set_xscale("log", base=2)
    name_axes(
        ax,
        "longest decode length n",
        title=f"{classes} classes: median gap ~ "
        f"n$^{{-{data[f'exponent_median_{classes}']:.2f}}}$ "
        f"(paper: {exponents.exponent(classes):.2f})",
        log="y",
    )
    ax.set_ylim(5e-4, 2)


def caption(data: Data) -> str:
    return (
        "Gap 1 - ρ of the limit, from certified radii, over its upper bound to leading order, "
        "which falls like n^(-1-2/(K-1)). Equal shares; the shorter lengths are drawn uniformly, "
        f"{_DRAWS} draws a size. A level cloud means that the exponent is the paper's: the median "
        f"gap fits n^-{data['exponent_median_3']:.3f} for K = 3 and "
        f"n^-{data['exponent_median_4']:.3f} for K = 4, the least of each size's draws "
        f"n^-{data['exponent_least_3']:.2f} and "
        f"n^-{data['exponent_least_4']:.2f}. Consecutive lengths, a resonance, fall "
        "like n^-3 instead. Sampled: evidence, not proof."
    )


FIGURE = Figure(
    id="gap_exponents",
    title="Unrelated lengths close the gap as slowly as they can; resonant ones like n⁻³",
    source="Congestion, B.8.7, generic ratios",
    parameters={"sizes": list(_SIZES), "draws": _DRAWS, "shares": "equal", "seed": exponents.SEED},
    size=(9.0, 4.0),
    data=data,
    draw=draw,
    caption=caption,
)
