"""A price against budgets of equal size: over generators, loads and errors of the predictor."""

import numpy as np

from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, name_axes, zero_line
from fluidkv_papers.tokenpd.instances import gains as paired
from fluidkv_papers.tokenpd.instances.compared import AT_ONCE, GENERATORS, SEEDS, SHARES

TOLD = "average"
LINES = {
    "price": ("price, within the budget", BLUE, "-", "o"),
    "pool": ("best of the pool, no price", ORANGE, "--", "s"),
    "price, oracle": ("price, oracle", BLACK, ":", "^"),
    "price, noise 2": ("price, oracle with noise 2", BLUE, ":", "v"),
    "h2o": ("H2O", GREEN, "-", "D"),
    "window": ("window, with sinks if better", GREY, "-", "x"),
}
"""Line -> its words, colour, style and marker."""
_POLICIES = {
    "price": (paired.HARD, TOLD),
    "pool": (paired.POOLED, TOLD),
    "price, oracle": (paired.HARD, "oracle"),
    "price, noise 2": (paired.HARD, "noise 2"),
    "h2o": (paired.H2O, ""),
}


def data() -> Data:
    """Points of attention mass above uniform budgets with the same returns, and halves of 95 %
    intervals. Shapes: all (share,)."""
    found: dict[str, np.ndarray] = {"x": np.array(SHARES)}
    for generator in GENERATORS:
        places = [paired.Place(generator, AT_ONCE[0], share) for share in SHARES]
        for line in LINES:
            gains = [
                paired.gain(
                    place, *_POLICIES.get(line, (paired.window(place), "")), paired.UNIFORM, TOLD
                )
                for place in places
            ]
            found[f"{generator}.{line}"] = 100 * np.array([one.mean for one in gains])
            found[f"{generator}.{line}_half"] = 100 * np.array([one.half for one in gains])
    return found


def draw(data: Data, canvas: Canvas) -> None:
    """A panel for each generator; the last one says which line is which."""
    axes = canvas.subplots(2, 4).flat
    for ax, generator in zip(axes, GENERATORS, strict=False):
        _draw_panel(data, ax, generator)
    axes[0].set_ylabel("points of mass kept, over uniform")
    axes[4].set_ylabel("points of mass kept, over uniform")
    axes[7].set_axis_off()
    axes[7].legend(*axes[0].get_legend_handles_labels(), loc="center left")
    words = "0: equal shares of the budget,\nby an exponential average"
    axes[7].text(0.03, 0.12, words, color=GREY, fontsize=8.5, transform=axes[7].transAxes)


def _draw_panel(data: Data, ax: Axes, generator: str) -> None:
    zero_line(ax, 0)
    for line, (words, color, style, marker) in LINES.items():
        middle, half = data[f"{generator}.{line}"], data[f"{generator}.{line}_half"]
        band = {"color": color, "alpha": 0.12, "linewidth": 0}
        ax.fill_between(data["x"], middle - half, middle + half, **band)
        look = {"color": color, "linestyle": style, "marker": marker, "markersize": 4}
        ax.plot(data["x"], middle, label=words, **look)
    below = generator in GENERATORS[-4:]
    name_axes(ax, x="budget / what is held" if below else "", title=generator, log="x")
    ax.set_xticks(data["x"], ["1/16", "1/8", "1/4", "1/2"])
    ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)


def _caption(data: Data) -> str:
    at = list(SHARES).index(1 / 4)

    def told(line: str) -> str:
        values = (f"{float(data[f'{g}.{line}'][at]):+.1f}" for g in GENERATORS)
        pairs = zip(GENERATORS, values, strict=True)
        return ", ".join(f"{name} {value.replace('-', '−')}" for name, value in pairs)

    return (
        f"{AT_ONCE[0]} requests at once on average, {len(SEEDS)} seeds, 95 % intervals; 0 is the "
        "best by an exponential average of past weights within equal shares of the budget. At a "
        f"quarter of what would be held, points: the price {told('price')}; the pool without a "
        f"price {told('pool')}; H2O {told('h2o')}; the window {told('window')}. Synthetic "
        "attention; mass is not quality."
    )


FIGURE = Figure(
    id="tokenpd_price_or_budgets",
    title="A price keeps what one shared pool keeps; better predictions matter more than either",
    source="Token-PD, in simulation",
    parameters={"shares": list(SHARES), "at_once": AT_ONCE[0], "seeds": list(SEEDS)},
    size=(11.0, 5.6),
    data=data,
    draw=draw,
    caption=_caption,
)
