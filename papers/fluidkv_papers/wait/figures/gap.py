"""The throughput gap of WAIT and Nested WAIT over longer and longer horizons."""

from fractions import Fraction

import numpy as np

from fluidkv import wait
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREEN, ORANGE, name_axes
from fluidkv_papers import theory
from fluidkv_papers.wait.figures import policies
from fluidkv_papers.wait.instances import server

_HORIZON = 1.0  # s, of zeta = 1
_ZETAS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
_FIT_FROM = 1000  # the exponent
_TERMS_FROM = 10  # both terms
_SHORT = 100  # the last one with slack, where nothing bends
_RUNS = 2000
_LOAD = Fraction(4, 5)
_LOOKS = {
    "zero": ("WAIT, thresholds of the equilibrium", ORANGE, "o"),
    "slack": ("WAIT, least thresholds with slack", GREEN, "^"),
    "nested": ("Nested WAIT, least thresholds", BLUE, "s"),
}


def data(
    all_zetas: tuple[int, ...] = _ZETAS,
    runs: int = _RUNS,
    fit_from: float = _FIT_FROM,
    terms_from: float = _TERMS_FROM,
) -> Data:
    """Gaps as parts of throughput*.

    Shapes: "KEY.zeta" (zeta,), "KEY.gap" and "KEY.error", and "KEY.bound" of Theorem 1 for WAIT.
    With slack, shorter horizons suffice, and all of them are fitted.
    Scalars: "KEY.exponent", "KEY.low", "KEY.high" (95 %), "KEY.throughput" (throughput*); of
    `root_fit` without slack "zero.root", "zero.reciprocal" and "zero.p_value".
    """
    full, part = policies.full(), policies.full().scaled(_LOAD)
    segments = wait.Segments.of(part)
    d0, d1 = server.BASE, server.PER_KV_TOKEN
    least = wait.integer_thresholds(part, strict=True).thresholds
    cases = (
        ("zero", full, full, policies.PER_STAGE),
        ("slack", part, part, tuple(int(n) for n in least)),
        ("nested", part, segments, wait.integer_nested_thresholds(segments, d0, d1).thresholds),
    )
    found: dict[str, np.ndarray | float] = {}
    for key, system, model, thresholds in cases:
        nested, slack = model is segments, key != "zero"
        zetas = [zeta for zeta in all_zetas if not slack or zeta <= _SHORT]
        best = float(wait.fluid_equilibrium(system).throughput)
        study = theory.throughput_gap(
            model,
            thresholds,
            zetas,
            horizon=_HORIZON,
            base=d0 if nested else None,
            per_kv_token=d1 if nested else None,
            runs=runs,
            fit_from=0.0 if slack else fit_from,
        )
        found |= {
            f"{key}.zeta": np.array(zetas, float),
            f"{key}.gap": study.gap / best,
            f"{key}.error": study.gap_error / best,
            f"{key}.exponent": study.exponent,
            f"{key}.low": study.interval[0],
            f"{key}.high": study.interval[1],
            f"{key}.throughput": best,
        }
        if not slack:
            fit = theory.root_fit(study, terms_from)
            found |= {"zero.root": fit.root / best, "zero.reciprocal": fit.reciprocal / best}
            found["zero.p_value"] = fit.p_value
        if not nested:
            bounds = [
                wait.theory.bounds.theorem_1_gap(system, thresholds, Fraction(_HORIZON) * z)
                for z in zetas
            ]
            found[f"{key}.bound"] = np.array([bound.throughput_gap for bound in bounds]) / best
    return found


def draw(data: Data, canvas: Canvas) -> None:
    ax = canvas.subplots()
    for key, (label, color, marker) in _LOOKS.items():
        zeta = data[f"{key}.zeta"]
        ax.errorbar(
            zeta,
            100 * data[f"{key}.gap"],
            200 * data[f"{key}.error"],
            color=color,
            marker=marker,
            markersize=4,
            label=f"{label}: exponent {data[f'{key}.exponent']:.2f}",
        )
        if f"{key}.bound" in data:
            bound = 100 * data[f"{key}.bound"]
            ax.plot(zeta, bound, color=color, linewidth=1.0, linestyle=":")
    ax.plot([], [], color=ORANGE, linewidth=1.0, linestyle=":", label="bounds of Theorem 1")
    zeta = data["zero.zeta"]
    terms = data["zero.root"] / zeta**0.5 + data["zero.reciprocal"] / zeta
    ax.plot(
        zeta,
        100 * terms,
        color="black",
        linewidth=0.8,
        linestyle="--",
        label="fit: a / sqrt(zeta) + b / zeta",
        zorder=3,
    )
    name_axes(
        ax,
        f"zeta: horizon in units of {_HORIZON:g} s",
        "throughput lost, % of throughput*",
        log="xy",
    )
    ax.legend(loc="lower left")


def caption(data: Data) -> str:
    rows = "; ".join(
        f"{label} {data[f'{key}.exponent']:.3f} "
        f"[{data[f'{key}.low']:.3f}, {data[f'{key}.high']:.3f}]"
        for key, (label, _, _) in _LOOKS.items()
    )
    gap, bound = (data[f"zero.{name}"] for name in ("gap", "bound"))
    return (
        "The two types of figure wait.policies. With the thresholds of the equilibrium (6 and 4, "
        "the full rate) as many prompts come as a batch takes, on average; the others have slack, "
        f"at {float(_LOAD):.0%} of the rate. Gap: throughput* less output tokens a second, from "
        f"what is left in the system, {_RUNS:,} runs to each horizon; bars are two standard "
        f"errors. Exponents, without slack from zeta = {_FIT_FROM} on, with 95 % intervals: {rows}"
        ". Theorem 1 says -0.5 without slack and -1 with it. Without slack the line still bends, "
        "for the batches that fill up first are lost once: gaps from zeta = "
        f"{_TERMS_FROM} on are {100 * data['zero.root']:.3g} / sqrt(zeta) + "
        f"{100 * data['zero.reciprocal']:.3g} / zeta per cent, "
        f"p = {data['zero.p_value']:.2g}. The theorem's bound is "
        f"{(bound / gap).min():.1f} to {(bound / gap).max():.1f} times the gap without slack."
    )


FIGURE = Figure(
    id="wait_gap",
    title="The gap falls like 1/sqrt(zeta) at equality, 1/zeta with slack",
    source="WAIT, Theorems 1 and 2",
    parameters={
        "lengths": [list(pair) for pair in policies.LENGTHS],
        "per_stage": list(policies.PER_STAGE),
        "part_of_full_rate": str(_LOAD),
        "horizon_s": _HORIZON,
        "zetas": list(_ZETAS),
        "fit_from": _FIT_FROM,
        "terms_from": _TERMS_FROM,
        "zetas_with_slack": [zeta for zeta in _ZETAS if zeta <= _SHORT],
        "runs": _RUNS,
        "seed": 0,
    },
    size=(7.0, 4.4),
    data=data,
    draw=draw,
    caption=caption,
)
