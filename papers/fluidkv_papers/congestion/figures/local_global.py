"""How far local stability is from global: who does not return just above the threshold."""

from fractions import Fraction
from typing import Any

import numpy as np

from fluidkv import exact
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import GREEN, GREY, ORANGE, PURPLE, SMALL_NOTE, name_axes
from fluidkv.fluid import outcomes
from fluidkv_papers.congestion.instances.return_survey import SEED, survey

_SHARE = Fraction(1, 2)
_PAIRS = ((1, 8), (1, 12), (1, 16), (2, 7), (2, 11), (5, 9))
_LOOKS = dict(
    zip(
        _PAIRS,
        zip(("#7FB5DA", "#2A67A0", "#123C69", GREEN, PURPLE, ORANGE), "osD^vX", strict=True),
        strict=True,
    )
)
"""Pair -> colour and marker."""
_NAME: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8.5, "va": "center"}
_BESIDE = {(1, 8): (30.0, "left"), (1, 12): (20.0, "left"), (1, 16): (35.0, "right")}
"""Pair -> height of its name in (a), per cent, and the side of the line where it stands."""
_TOPS = {(1, 8): 78.0, (1, 12): 71.0, (1, 16): 64.0}
"""Pair -> where its dotted line ends, with its name."""
# Tokens above the crossing; dense where the exceptions end.
_ABOVE = tuple(Fraction(k, 1000) for k in (1, 3, 10, 20, 40, 70, 100, 150, 200, 300, 500, 1000))
_COUNT = 100
_HORIZON = 30_000


def data() -> Data:
    """For each pair the crossing, and of each input length above it who returns and how late."""
    numbers: dict[str, np.ndarray | float] = {"above": np.array([float(x) for x in _ABOVE])}
    for pair in _PAIRS:
        mix = exact.two_lengths(*pair, _SHARE)
        found = exact.input_threshold(mix)
        if found.least is None:
            raise ArithmeticError(f"no threshold of {pair}")
        crossing = Fraction(found.crossings[-1].length.mid().str(20, radius=False))
        rows = [
            survey(
                mix,
                (crossing + above).limit_denominator(10**6),
                least=found.least,
                count=_COUNT,
                seed=SEED,
                horizon=_HORIZON,
            )
            for above in _ABOVE
        ]
        name = _name(pair)
        numbers[f"{name}_crossing"] = float(crossing)
        numbers[f"{name}_least"] = float(found.least)
        numbers[f"{name}_lost"] = np.array([1 - s.returned / s.starts for s in rows])
        numbers[f"{name}_slowest"] = np.array(
            [float(s.slowest) if s.all_return else np.nan for s in rows]
        )
    return numbers


def draw(data: Data, canvas: Canvas) -> None:
    left, right = canvas.subplots(1, 2)
    above = data["above"]
    for pair in _PAIRS:
        name, (color, marker) = _name(pair), _LOOKS[pair]
        style = {"color": color, "marker": marker, "markersize": 4}
        lost, slowest = 100 * data[f"{name}_lost"], data[f"{name}_slowest"]
        left.plot(above, lost, **style)
        right.plot(above, slowest, **style)
        first = np.flatnonzero(np.isfinite(slowest))[0]
        start = (above[first], slowest[first])
        right.annotate(str(pair), start, (-6, 0), color=color, ha="right", **_NAME)
        if lost.any():
            _name_fall(left, pair, above, lost)
            least = data[f"{name}_least"]
            _whole_length(left, pair, least - data[f"{name}_crossing"], least)
    name_axes(left, y="% of the sampled starts", title="(a) starts that do not return")
    left.set(ylim=(-3, 80), yticks=range(0, 51, 10))  # room for the names of the dotted lines
    left.annotate(
        "dotted: smallest stable\nwhole input length", (above[0], 67), (0, 0), **SMALL_NOTE
    )
    never = [str(p) for p in _PAIRS if not np.any(data[f"{_name(p)}_lost"])]
    left.annotate(f"{', '.join(never)}: none", (above[0], 0), (0, 5), **SMALL_NOTE)
    name_axes(right, y="iterations", title="(b) slowest return, where all return", log="y")
    for ax in (left, right):
        _axis(ax)
    right.set_xlim(left=above[0] / 4)  # room for the names


def _name_fall(ax: Axes, pair: tuple[int, int], above: np.ndarray, lost: np.ndarray) -> None:
    """The name beside the line where it falls to none: before, it lies on others."""
    color, _ = _LOOKS[pair]
    last = np.flatnonzero(lost)[-1]
    height, side = _BESIDE[pair]
    part = 1 - height / lost[last]  # of the way to the next point, on an axis of logarithms
    at = above[last] * (above[last + 1] / above[last]) ** part
    offset, ha = ((6, 0), "left") if side == "right" else ((-6, 0), "right")
    ax.annotate(str(pair), (at, height), offset, color=color, ha=ha, **_NAME)


def _whole_length(ax: Axes, pair: tuple[int, int], at: float, least: float) -> None:
    """The smallest whole input length that is stable, dotted."""
    color, _ = _LOOKS[pair]
    ax.axvline(at, ymax=_TOPS[pair] / 83, color=color, linewidth=1, linestyle=":")
    text = f"{pair}: l0 = {least:.0f}"
    ax.annotate(text, (at, _TOPS[pair] - 3), (-4, 0), color=color, ha="right", **_NAME)


def caption(data: Data) -> str:
    lost = {p: data[f"{_name(p)}_lost"] for p in _PAIRS}
    above = data["above"]
    until = [
        f"{p} up to {above[x > 0].max():g} tokens above" for p, x in lost.items() if np.any(x > 0)
    ]
    never = [str(p) for p, x in lost.items() if not np.any(x > 0)]
    return (
        f"Equal shares, input lengths above the one at which the last mode becomes stable (a class "
        "between two whole lengths stands for a mixture of both). Each point follows every burst "
        f"and {_COUNT} other starts for {_HORIZON:,} iterations. Some starts do not return: "
        f"{'; '.join(until) or 'none'}. All return at every point: {', '.join(never)}. Dotted: "
        "the smallest whole input length that is stable, for the pairs with a class of one token. "
        f"Looked at every {outcomes.convergence.CHECK_EVERY} iterations. Sampled; an exact cycle "
        "beside a stable equilibrium is in the ledger, "
        "congestion.section-4-3.threshold-is-global."
    )


def _axis(ax: Axes) -> None:
    name_axes(ax, "input length above the crossing, tokens", log="x")
    ax.grid(color=GREY, alpha=0.15)


def _name(pair: tuple[int, int]) -> str:
    return f"pair_{pair[0]}_{pair[1]}"


FIGURE = Figure(
    id="local_global",
    title="Where one class has one output token, local stability comes before global stability",
    source="Our own, beside Congestion, Theorem 3 (2) and section 4.3",
    parameters={
        "decode_lengths": [list(p) for p in _PAIRS],
        "share": str(_SHARE),
        "above": [str(x) for x in _ABOVE],
        "starts": _COUNT,
        "iterations": _HORIZON,
        "seed": 20260,
    },
    size=(9.0, 3.8),
    data=data,
    draw=draw,
    caption=caption,
)
