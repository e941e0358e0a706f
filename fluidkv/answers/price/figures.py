"""What each policy keeps, what the price did, which tokens stayed: `fluidkv price --out`."""

from functools import partial
from typing import Any

import numpy as np

from fluidkv.answers.price.result import Kept, PriceAnswer
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, PURPLE, name_axes

_SHOWN = 4
"""Policies whose tokens are followed: more would be too small to see."""
_LINES = ((ORANGE, "-"), (BLUE, "--"), (GREEN, "-."), (PURPLE, ":"))


def price_figure(answer: PriceAnswer) -> Figure:
    """One figure of an answer."""
    return Figure(
        id="tokens_kept",
        title=f"{answer.name}: what is kept in {answer.budget:,} token{'s' * (answer.budget > 1)}",
        source="fluidkv price: attention weights, no model runs",
        parameters={
            "source": answer.name,
            "budget": answer.budget,
            "predictor": answer.predictor,
            "eta": answer.rule["eta"],
            "runs": answer.runs,
        },
        size=(8.5, max(5.2, 3.4 + 0.17 * len(answer.kept))),
        data=partial(price_data, answer),
        draw=partial(_draw, answer),
        caption=partial(_caption, answer),
    )


def price_data(answer: PriceAnswer) -> Data:
    """Mass kept by policy; price and use by round; where and when tokens of one request stay."""
    data: dict[str, Any] = {
        "budget": float(answer.budget),
        "mean": np.array([each.mean for each in answer.kept]),
        "p5": np.array([each.low for each in answer.kept]),
        "worst": np.array([each.worst for each in answer.kept]),
    }
    for each in answer.kept:
        if each.price is not None:
            data[f"{each.name}.price"] = np.asarray(each.price, float)
            data[f"{each.name}.used"] = np.trim_zeros(each.used[0].astype(float), "b")
    for each in _shown(answer):
        rounds, keys = np.nonzero(each.there)
        data[f"{each.name}.round"] = (rounds + answer.shown.start).astype(float)
        data[f"{each.name}.key"] = keys.astype(float)
    return data


def _shown(answer: PriceAnswer) -> list[Kept]:
    """What keeps most, and one policy of each kind beside it."""
    wanted = [answer.pick.name, "token-pd", "token-pd-hard", "h2o", "streaming-llm", "lru"]
    first = [answer.of(name) for name in dict.fromkeys(wanted) if name is not None]
    found = [each for each in first if each is not None]
    found += [each for each in answer.kept if each not in found]
    return found[:_SHOWN]


def _draw(answer: PriceAnswer, data: Data, canvas: Canvas) -> None:
    upper = 0.4 + 0.17 * len(answer.kept)
    grid = canvas.add_gridspec(2, 1, height_ratios=(max(upper, 2.6), 2.0))
    above = grid[0].subgridspec(2, 2, width_ratios=(1.1, 1))
    _masses(answer, data, canvas.add_subplot(above[:, 0]))
    priced = [name.removesuffix(".price") for name in data if name.endswith(".price")]
    if priced:
        used = canvas.add_subplot(above[0, 1])
        _used(priced, data, used)
        _prices(priced, data, canvas.add_subplot(above[1, 1], sharex=used))
    shown = _shown(answer)
    below = grid[1].subgridspec(1, len(shown))
    first: Axes | None = None
    for place, each in enumerate(shown):
        ax = canvas.add_subplot(below[place], sharex=first, sharey=first)
        _tokens(answer, each.name, data, ax)
        name_axes(ax, "round", "position of the token" if first is None else "")
        if first is not None:
            ax.tick_params(labelleft=False)
        first = first or ax
    canvas.legend(handles=_legend(bool(priced)), ncols=7, loc="outside lower center", fontsize=7.5)


def _legend(priced: bool) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    means = [("own share", BLACK), ("pooled", BLUE), *([("priced", ORANGE)] if priced else [])]
    dot: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 5}
    small: dict[str, Any] = {"linestyle": "", "color": GREY, "markersize": 5}
    return [
        *(Line2D([], [], color=colour, label=name, **dot) for name, colour in means),
        Line2D([], [], marker="o", fillstyle="none", label="5th percentile", **small),
        Line2D([], [], marker="|", label="worst request", **small),
        Patch(color=BLUE, label="token kept"),
        Patch(color=PALE, label="token evicted"),
    ]


def _masses(answer: PriceAnswer, data: Data, ax: Axes) -> None:
    rows = np.arange(len(answer.kept))
    mean, low, worst = (100 * data[name] for name in ("mean", "p5", "worst"))
    ax.hlines(rows, worst, mean, color=PALE, linewidth=3)
    ax.scatter(worst, rows, s=22, color=GREY, marker="|", zorder=3)
    ax.scatter(low, rows, s=12, edgecolors=GREY, marker="o", facecolors="none", zorder=3)
    ax.scatter(mean, rows, s=24, c=[_colour(each) for each in answer.kept], zorder=3)
    ax.set_yticks(rows, [each.name + ("" if each.fits else "+") for each in answer.kept])
    for label, each in zip(ax.get_yticklabels(), answer.kept, strict=True):
        if each.name == answer.pick.name:
            label.set_fontweight("bold")
    ax.tick_params(axis="y", labelsize=7.5)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    name_axes(ax, "attention mass kept, %")


def _colour(each: Kept) -> str:
    if each.price is not None:
        return ORANGE
    return BLUE if each.scope == "pooled" else BLACK


def _used(priced: list[str], data: Data, ax: Axes) -> None:
    for name, (colour, line) in zip(priced, _LINES, strict=False):
        used = data[f"{name}.used"]
        ax.plot(np.arange(used.size), used, color=colour, linestyle=line, label=name, linewidth=1.1)
    ax.axhline(data["budget"], color=GREY, linewidth=0.8, linestyle="--")
    ax.set_ylim(bottom=0)
    ax.tick_params(labelbottom=False)
    ax.legend(fontsize=7, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, borderaxespad=0)
    name_axes(ax, "", "tokens used")


def _prices(priced: list[str], data: Data, ax: Axes) -> None:
    for name, (colour, line) in zip(priced, _LINES, strict=False):
        price = data[f"{name}.price"]
        ax.plot(np.arange(price.size), price, color=colour, linestyle=line, linewidth=1.1)
    if min(data[f"{name}.price"].min() for name in priced) > 0:  # 0 stays 0, and has no logarithm
        ax.set_yscale("log")
        _plain_ticks(ax)
    _whole(ax)
    name_axes(ax, "round", "price")


def _plain_ticks(ax: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = ax.get_ylim()
    few = (1, 3) if high <= 1000 * low else (1,)
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7) if high <= 20 * low else few))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_locator(NullLocator())


def _whole(ax: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))


def _tokens(answer: PriceAnswer, name: str, data: Data, ax: Axes) -> None:
    """A dark cell where a token was there, a pale one where it was gone."""
    rounds, keys = data[f"{name}.round"].astype(int), data[f"{name}.key"].astype(int)
    start, prompt, length = answer.shown.start, answer.shown.prompt, answer.shown.length
    rows = length - prompt + 1
    cells = np.full((length, rows), np.nan)
    born = np.arange(length)[:, None] <= prompt - 1 + np.arange(rows)[None]
    cells[born] = 0.0
    cells[keys, rounds - start] = 1.0
    from matplotlib.colors import ListedColormap

    ax.imshow(
        cells,
        cmap=ListedColormap([PALE, BLUE]),
        vmin=0,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
        origin="lower",
        extent=(start - 0.5, start + rows - 0.5, -0.5, length - 0.5),
    )
    _whole(ax)
    ax.set_title(name, fontsize=8.5)


def _caption(answer: PriceAnswer, data: Data) -> str:
    kept = ", ".join(
        f"{each.name} {100 * mean:.1f} %"
        for each, mean in zip(answer.kept, data["mean"].tolist(), strict=True)
        if each in _shown(answer)
    )
    over = " +: uses more than the budget in some rounds." if _some_over(answer) else ""
    of = "" if answer.runs == 1 else f" in each of {answer.runs} runs"
    return (
        f"Attention mass on the tokens that are there, {answer.requests:,} requests{of}: {kept}. "
        f"Black: each request has its share of the budget; blue: one budget for all; orange: a "
        f"price.{over} Right: tokens used and the price of a token by round, the budget dashed. "
        f"Below: which tokens of request {answer.shown.request} stay (blue) and are gone (grey)."
    )


def _some_over(answer: PriceAnswer) -> bool:
    return not all(each.fits for each in answer.kept)
