"""From which input length on two output lengths are stable: the map of all pairs up to 60."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fluidkv import exact
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, name_axes

_LONGEST = 60
_PAIRS = ((1, 60), (7, 60), (29, 60), (31, 60), (59, 60), (5, 9))
_COLORS = (BLUE, GREEN, ORANGE, PURPLE, BLACK, GREY)
_STEPS = 20  # shares k/20


def data(longest: int = _LONGEST) -> Data:
    """Certified l0_min: of all pairs at equal shares, and of a few pairs over the share.

    Pairs with a common divisor have NaN: they are unstable at all long inputs.
    """
    half = exact.threshold_atlas(longest, [Fraction(1, 2)], workers=1).isel(share=0)
    pairs = [(a, n) for n in range(2, longest + 1) for a in range(1, n)]
    cells = [half.sel(first=a, second=n) for a, n in pairs]
    least = np.array([float(c["l0_min"]) for c in cells])
    numbers: dict[str, NDArray[np.float64] | float] = {
        "first": np.array([a for a, _ in pairs], dtype=np.float64),
        "second": np.array([n for _, n in pairs], dtype=np.float64),
        "l0_min": np.where(least < 0, np.nan, least),
        "asymptotic": np.array([float(c["asymptotic"]) for c in cells]),
        "stable_windows": np.array([float(c["stable_windows"]) for c in cells]),
        "share": np.arange(1, _STEPS) / _STEPS,
    }
    for a, n in _shown(longest):
        found = [
            exact.input_threshold(exact.two_lengths(a, n, Fraction(k, _STEPS))).least
            for k in range(1, _STEPS)
        ]
        numbers[f"l0_min_{a}_{n}"] = np.array(found, dtype=np.float64)
    return numbers


def draw(data: Data, canvas: Canvas) -> None:
    panels = canvas.add_gridspec(2, 2, width_ratios=[1.35, 1])
    _map(data, canvas.add_subplot(panels[:, 0]), canvas)
    _over_shares(data, canvas.add_subplot(panels[0, 1]))
    _over_formula(data, canvas.add_subplot(panels[1, 1]))


def _map(data: Data, ax: Axes, canvas: Canvas) -> None:
    from matplotlib.colors import ListedColormap, LogNorm

    first, second = data["first"].astype(int), data["second"].astype(int)
    longest = int(second.max())
    shape = (longest + 1, longest + 1)
    values, common = np.full(shape, np.nan), np.full(shape, np.nan)
    least = data["l0_min"]
    # 0 has no place on a logarithmic scale: it takes the colour of 1
    values[first, second] = np.maximum(least, 1)
    common[first, second] = np.where(np.isnan(least), 1.0, np.nan)
    ax.pcolormesh(common, cmap=ListedColormap(["#D9D9D9"]), rasterized=True)
    top = float(np.nanmax(values))
    mesh = ax.pcolormesh(values, norm=LogNorm(1, top), cmap="viridis", rasterized=True)
    # in the empty half of the map
    bar = canvas.colorbar(
        mesh, cax=ax.inset_axes((0.04, 0.9, 0.5, 0.035)), orientation="horizontal"
    )
    bar.set_label("l0_min, tokens of input\ngrey: common divisor, never stable")
    ax.set(xlim=(2, longest + 1), ylim=(1, longest + 1))
    ticks = np.arange(10, longest + 1, 10)
    ax.set_xticks(ticks + 0.5, [str(t) for t in ticks])
    ax.set_yticks(ticks + 0.5, [str(t) for t in ticks])
    name_axes(ax, "longer output", "shorter output", "(a) equal shares")


def _over_shares(data: Data, ax: Axes) -> None:
    longest = int(data["second"].max())
    for (a, n), color in zip(_shown(longest), _COLORS, strict=False):
        ax.plot(
            data["share"], np.maximum(data[f"l0_min_{a}_{n}"], 1), color=color, label=f"{a}, {n}"
        )
    name_axes(ax, "share of the shorter output", "l0_min, tokens", "(b) over the share", log="y")
    ax.set_xlim(0, 1)
    ax.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.0), columnspacing=1.0)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * 30)  # room for the legend


def _over_formula(data: Data, ax: Axes) -> None:
    longer, ratio = _ratios(data)
    for above, color, label in ((True, ORANGE, "l0_min above (13)"), (False, BLUE, "below")):
        kept = (ratio > 1) == above
        off = 100 * np.abs(ratio[kept] - 1)
        ax.scatter(longer[kept], off, s=5, color=color, alpha=0.6, linewidths=0, label=label)
    ax.set_yscale("log")
    ax.set_yticks([0.01, 0.1, 1, 10, 100], ["0.01%", "0.1%", "1%", "10%", "100%"])
    name_axes(ax, "longer output", "distance from (13)", "(c) against equation (13), equal shares")
    ax.set_ylim(0.003, 100)
    ax.legend(loc="upper right", ncols=2, markerscale=3)


def caption(data: Data) -> str:
    longer, ratio = _ratios(data)
    longest = int(longer.max())
    at = ratio[longer > longest // 2]
    least = data["l0_min"]
    stable = np.isfinite(least)
    k = int(np.nanargmax(least))
    first, second = data["first"], data["second"]
    return (
        f"All {len(least):,} pairs of output lengths up to {longest}; inputs are equal. l0_min is "
        "the smallest input length at which the eviction-free equilibrium is stable, certified on "
        f"both sides. (a) {np.count_nonzero(~stable):,} pairs with a common divisor have none. The "
        f"largest is {least[k]:,.0f}, of {first[k]:.0f} and {second[k]:.0f}. {_windows(data)} "
        "(c) l0_min against the formula for long outputs: for longer outputs beyond "
        f"{longest // 2} it is {at.min():.3f} to {at.max():.3f} times as long."
    )


def _shown(longest: int) -> list[tuple[int, int]]:
    return [(a, n) for a, n in _PAIRS if n <= longest]


def _ratios(data: Data) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The longer output and l0_min over (13), of the pairs with a threshold above 0."""
    least = data["l0_min"]
    kept = least > 0
    return data["second"][kept], least[kept] / data["asymptotic"][kept]


def _windows(data: Data) -> str:
    """Whether stability has any other window: all input lengths were looked at."""
    windows, stable = data["stable_windows"], np.isfinite(data["l0_min"])
    islands = int((windows[stable] > 1).sum())
    if islands:
        return f"{islands} of the others are unstable again somewhere above l0_min."
    return "Each of the others is stable at all input lengths from l0_min on."


FIGURE = Figure(
    id="threshold_atlas",
    title="Coprime outputs are stable only from an input length on that grows like their cube",
    source="Congestion, section 4.3: equation (13) beside certified thresholds",
    parameters={
        "longest": _LONGEST,
        "map_share": "1/2",
        "shares": f"k/{_STEPS}",
        "pairs": [list(pair) for pair in _PAIRS],
        "seed": None,
    },
    size=(10.0, 5.8),
    data=data,
    draw=draw,
    caption=caption,
)
