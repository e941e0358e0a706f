"""Price, memory used and regret, round by round, where the readings of the guarantee part."""

from fractions import Fraction
from functools import partial

import numpy as np

from fluidkv import tokenpd
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREEN, GREY, ORANGE, name_axes, zero_line
from fluidkv.tokenpd.pricing import Budget, Demand
from fluidkv_papers.theory import price_rule

ROUNDS = 64
STEP = Fraction(1, 8)
"""1 / sqrt(T)."""
READINGS = {
    "netted": ("may use more than M", Budget.NETTED, Demand.WANTED, BLUE, "-"),
    "wanted": ("M, price by what was wanted", Budget.HARD, Demand.WANTED,
               ORANGE, "-"),
    "kept": ("M, price by what was kept", Budget.HARD, Demand.KEPT, GREEN, "--"),
}  # fmt: skip
CASES = {
    "alternating": "two tokens worth 1, then one worth 1/2",
    "idle_then_busy": "no token, then two worth 1",
}
SHOWN = {"alternating": 24, "idle_then_busy": ROUNDS}
"""Rounds drawn: of what repeats, the first."""


def data() -> Data:
    """Of each case and reading "<case>.<reading>.<what>": price (T + 1,), used, regret (T,)."""
    from fluidkv_papers.theory.price_rule import cases

    found = {}
    for name in CASES:
        case = getattr(cases, name)(ROUNDS)
        for reading, (_, budget, demand, *_) in READINGS.items():
            pricing = tokenpd.Pricing(float(STEP), float(case.start), budget, demand)
            run = price_rule.exact_rounds(case.pool, 1, pricing)
            key = f"{name}.{reading}"
            found[f"{key}.price"] = np.array([float(price) for price in run.price])
            found[f"{key}.used"] = run.used
            found[f"{key}.regret"] = np.cumsum(run.optimum - run.reward).astype(np.float64)
    return found


def draw(data: Data, canvas: Canvas) -> None:
    panels = canvas.subplots(3, 2, sharex="col")
    for column, (name, words) in enumerate(CASES.items()):
        price, used, regret = panels[:, column]
        _draw_rounds(data, name, price, "price", SHOWN[name] + 1)
        _draw_rounds(data, name, used, "used", SHOWN[name])
        _draw_rounds(data, name, regret, "regret", SHOWN[name])
        used.axhline(1, color=GREY, linewidth=0.8)
        used.annotate("M", (1, 1), (2, 3), textcoords="offset points", color=GREY)
        zero_line(regret, 0)
        used.set_yticks([0, 1, 2])
        name_axes(price, title=words, log="y" if name == "idle_then_busy" else "")
        name_axes(regret, x="round")
    for ax, label in zip(panels[:, 0], ("price", "memory used", "regret so far"), strict=True):
        ax.set_ylabel(label)
    panels[2, 1].legend(loc="lower left")


def _draw_rounds(data: Data, name: str, ax: Axes, what: str, rounds: int) -> None:
    for reading, (label, _, _, color, style) in READINGS.items():
        values = data[f"{name}.{reading}.{what}"][:rounds]
        line = partial(ax.step, where="post") if what == "used" else ax.plot
        line(np.arange(1, len(values) + 1), values, style, color=color, label=label)


def caption(data: Data) -> str:
    def last(name: str, reading: str) -> str:
        return f"{data[f'{name}.{reading}.regret'][-1]:g}"

    over = int((data["idle_then_busy.netted.used"] > 1).sum())
    lowest = data["idle_then_busy.netted.price"].min()
    ends = ", ".join(last("alternating", reading) for reading in READINGS)
    return (
        f"Room for one token, mu_1 = 1, eta = 1/8 = 1 / sqrt(T), {ROUNDS} rounds; no decision is "
        "left to rounding. Left, the first of them: two tokens raise the price above 1/2, "
        "so that the next round keeps nothing and it falls back; the first two readings have the "
        f"same prices. Regret in the end is {ends}: "
        "rounds that may use 2 M gain what others lose, and the price that sees what was kept "
        "falls until it does nothing. Right: the price falls to "
        f"{lowest:.2g} and has no time to rise; {over} rounds use 2 M, and the netted sum is 0."
    )


FIGURE = Figure(
    id="tokenpd_price_paths",
    title="One price rule, three readings of its budget: regret of either sign",
    source="Token-PD, section 4, (4) and (5)",
    parameters={"rounds": ROUNDS, "step": str(STEP), "cases": list(CASES)},
    size=(9.0, 7.0),
    data=data,
    draw=draw,
    caption=caption,
)
