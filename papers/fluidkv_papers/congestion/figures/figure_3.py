"""Congestion, Figure 3: spectral radius against input length, and the threshold against length."""

from fractions import Fraction

import numpy as np

from fluidkv import exact
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, name_axes, zero_line

_HALF = Fraction(1, 2)
# The paper names (2, 7) alone. The others are ours: from a threshold of a few tokens to a hundred.
_PAIRS = ((2, 3), (2, 7), (5, 9), (8, 9))
_COLORS = (BLUE, ORANGE, GREEN, PURPLE)
_LONGEST_INPUT = 200
_SHORT = 2
_LENGTHS = tuple(range(3, 62, 2))


def data() -> Data:
    """rho at each input length, its limit and l0_min for each pair; l0_min and (13) for a = 2."""
    inputs = np.unique(np.geomspace(1, _LONGEST_INPUT, 60).round())
    numbers: dict[str, np.ndarray | float] = {"input_length": inputs}
    for a, n in _PAIRS:
        mix = exact.two_lengths(a, n, _HALF)
        radii = [exact.certify_spectrum(mix.weights(int(length))).radius for length in inputs]
        numbers[f"radius_{a}_{n}"] = np.array([(low + high) / 2 for low, high in radii])
        numbers[f"limit_{a}_{n}"] = sum(exact.certify_spectrum(mix.limit).radius) / 2
        least = numbers[f"threshold_{a}_{n}"] = _least(a, n)
        numbers[f"radius_at_threshold_{a}_{n}"] = (
            sum(exact.certify_spectrum(mix.weights(int(least))).radius) / 2
        )
    found = [exact.input_threshold(exact.two_lengths(_SHORT, n, _HALF)) for n in _LENGTHS]
    thresholds = np.array([float(x.least) for x in found if x.least is not None])
    n = np.array(_LENGTHS, dtype=np.float64)
    numbers |= {
        "decode_length": n,
        "threshold": thresholds,
        "asymptotic_theta_0": (1 / 2) ** 3 * n**3 / (np.pi**2 / 2),
        "asymptotic_own_theta": np.array([x.asymptotic.phases for x in found if x.asymptotic]),
        "slope": float(np.polyfit(np.log(n), np.log(thresholds), 1)[0]),
        "slope_last_half": float(
            np.polyfit(np.log(n[len(n) // 2 :]), np.log(thresholds[len(n) // 2 :]), 1)[0]
        ),
    }
    return numbers


def _least(a: int, n: int) -> float:
    value = exact.input_threshold(exact.two_lengths(a, n, _HALF)).least
    if value is None:
        raise ArithmeticError(f"no threshold for ({a}, {n})")
    return float(value)


def draw(data: Data, canvas: Canvas) -> None:
    left, right = canvas.subplots(1, 2)
    _radii(data, left)
    _thresholds(data, right)


def _radii(data: Data, ax: Axes) -> None:
    length = data["input_length"]
    zero_line(ax, 1)
    for (a, n), color in zip(_PAIRS, _COLORS, strict=True):
        threshold, limit = (data[f"{name}_{a}_{n}"] for name in ("threshold", "limit"))
        label = f"({a}, {n}): stable from {threshold:.0f}"
        ax.plot(length, data[f"radius_{a}_{n}"], color=color, label=label)
        at = data[f"radius_at_threshold_{a}_{n}"]
        ax.plot([threshold], [at], color=color, marker="o", markersize=5)
        ax.axhline(limit, xmin=0.93, color=color, linewidth=1.0, linestyle="--")
    name_axes(
        ax,
        "input length l0, tokens",
        "spectral radius",
        "(a) pairs of decode lengths, p = 1/2",
        log="x",
    )
    ax.set(xlim=(length[0], 300), ylim=(0.68, 1.3))
    ax.legend(loc="upper right")


def _thresholds(data: Data, ax: Axes) -> None:
    n = data["decode_length"]
    ax.plot(n, data["asymptotic_theta_0"], color=GREY, linestyle=":", label="(13), θ = 0")
    own = data["asymptotic_own_theta"]
    ax.plot(n, own, color=GREY, linestyle="--", label="(13), θ = 2/n")
    label = f"certified; slope {data['slope']:.2f}"
    ax.plot(n, data["threshold"], "o", color=BLUE, markersize=3.5, label=label)
    name_axes(ax, log="xy")
    ticks = [3, 5, 10, 20, 40, 60]
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.set_xticks([], minor=True)
    name_axes(
        ax,
        "longer decode length n",
        "shortest stable input length, tokens",
        "(b) decode lengths (2, n), p = 1/2",
    )
    ax.legend(loc="upper left")


def caption(data: Data) -> str:
    own = data["asymptotic_own_theta"][-1] / data["threshold"][-1] - 1
    zero = data["asymptotic_theta_0"][-1] / data["threshold"][-1] - 1
    return (
        "(a) Certified spectral radius of F; dots: the smallest stable l0, short dashes on the "
        "right: the limits for long inputs. The pair (2, 7) is stable from l0 = "
        f"{data['threshold_2_7']:.0f} on, not from 15 as printed; only this pair is named "
        f"in the paper. (b) Certified thresholds; the fitted slope is {data['slope']:.3f} "
        f"over all n and {data['slope_last_half']:.3f} over the longer half. At n = "
        f"{_LENGTHS[-1]} (13) is off by {100 * zero:+.1f} % with θ = 0, the limit of 2/n, and by "
        f"{100 * own:+.1f} % with θ = 2/n."
    )


FIGURE = Figure(
    id="congestion_figure_3",
    title="The longer the requests, the longer the inputs that stability takes",
    source="Congestion, Figure 3 and equation (13)",
    parameters={
        "pairs": [list(pair) for pair in _PAIRS],
        "share": str(_HALF),
        "longest_input": _LONGEST_INPUT,
        "short_decode_length": _SHORT,
        "decode_lengths": list(_LENGTHS),
        "seed": None,
    },
    size=(9.0, 3.8),
    data=data,
    draw=draw,
    caption=caption,
)
