"""Regret and violation over the length of the run, by sequence and by reading of the budget."""

import numpy as np

from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, name_axes

LOOKS = {
    "uniform, dear": (BLUE, "o", "-"),
    "uniform, cheap": (BLUE, "s", "--"),
    "drifting, dear": (GREEN, "^", "-"),
    "growing": (GREEN, "v", "--"),
    "alternating": (ORANGE, "D", "-"),
    "alike, cheap": (ORANGE, "x", "--"),
    "worst netted": (PURPLE, "P", "-"),
    "two futures": (BLACK, "*", "-"),
}
PANELS = {
    "rounds_netted": "regret, rounds may use more than M",
    "rounds_hard": "regret, M, price by what was wanted",
    "rounds_kept": "regret, M, price by what was kept",
    "price_netted": "regret against a fixed price, T M in all",
    "violation": "use above M less what is left free",
    "overuse": "use above M",
}
LEAST = 1.0
"""What is below is drawn nowhere, and named in the caption where it is a gain."""


def data() -> Data:
    """Of each study and measure "<study>.<measure>": means (horizon,), and twice their standard
    error; scalars ".power", ".low", ".high", NaN where there is none."""
    from fluidkv_papers.tokenpd.instances.rates import HORIZONS, exponent, recorded

    found: dict[str, np.ndarray | float] = {"rounds": np.array(HORIZONS, float)}
    for study in LOOKS:
        for measure in PANELS:
            key, at = f"{study}.{measure}", recorded()[study, measure]
            blocks = [at[rounds].blocks for rounds in HORIZONS]
            found[key] = np.array([each.mean() for each in blocks])
            found[f"{key}.error"] = np.array(
                [2 * each.std(ddof=1) / len(each) ** 0.5 if len(each) > 1 else 0 for each in blocks]
            )
            power = exponent(study, measure)
            found |= {
                f"{key}.power": power.power,
                f"{key}.low": power.low,
                f"{key}.high": power.high,
            }
    return found


def draw(data: Data, canvas: Canvas) -> None:
    for ax, (measure, words) in zip(canvas.subplots(3, 2).flat, PANELS.items(), strict=True):
        rounds = data["rounds"]
        for power, words_of in ((1.0, "T"), (0.5, "sqrt(T)")):
            ax.plot(rounds, rounds**power, color=GREY, linewidth=0.8)
            ax.annotate(words_of, (rounds[-1], rounds[-1] ** power), (3, -3),
                        textcoords="offset points", color=GREY)  # fmt: skip
        for study in LOOKS:
            _draw_study(data, ax, study, measure)
        name_axes(ax, title=words, log="xy")
        ax.set_ylim(LEAST, 2e6)
        ax.legend(loc="upper left", fontsize=7.5)
    for ax in canvas.axes[-2:]:
        ax.set_xlabel("rounds T")


def _draw_study(data: Data, ax: Axes, study: str, measure: str) -> None:
    color, marker, style = LOOKS[study]
    means, key = data[f"{study}.{measure}"], f"{study}.{measure}"
    seen = means >= LEAST
    if seen.sum() < 2:
        return
    label = study
    if np.isfinite(data[f"{key}.power"]) and means[-1] > 0:
        label += f" {data[f'{key}.power']:.2f}"
    ax.errorbar(
        data["rounds"][seen],
        means[seen],
        data[f"{key}.error"][seen],
        color=color,
        marker=marker,
        linestyle=style,
        markersize=4,
        label=label,
    )


def caption(data: Data) -> str:
    def told(study: str, measure: str) -> str:
        key = f"{study}.{measure}"
        return f"{data[f'{key}.power']:.3f} [{data[f'{key}.low']:.3f}, {data[f'{key}.high']:.3f}]"

    gains = [study for study in LOOKS if data[f"{study}.rounds_netted"][-1] < 0]
    return (
        "eta = 1 / sqrt(T). Means over 1,000 seeds up to T = 10^5 and 100 at 10^6, bars of two "
        "standard errors; behind names, fitted powers of T. Independent rounds (uniform): against "
        f"a fixed price {told('uniform, dear', 'price_netted')}, under a hard budget "
        f"{told('uniform, dear', 'rounds_hard')}, use above M {told('uniform, dear', 'overuse')}. "
        f"Netted violation from a cheap start: {told('uniform, cheap', 'violation')}. Where rounds "
        f"may use more than M, regret is a gain in the end, and not drawn, for {len(gains)} of "
        f"{len(LOOKS)}; the worst known case has {told('worst netted', 'rounds_netted')}. What is "
        "below 1 is not drawn."
    )


FIGURE = Figure(
    id="tokenpd_rates",
    title="Netted sums grow like sqrt(T), use above M and a hard budget's regret like T",
    source="Token-PD, section 4, Appendix A",
    parameters={"studies": list(LOOKS), "measures": list(PANELS), "step": "1 / sqrt(T)"},
    size=(9.5, 11.0),
    data=data,
    draw=draw,
    caption=caption,
)
