"""How often Nested WAIT exceeds the memory that Theorem 2 asks for."""

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from fluidkv.figures.figure import Data, Figure, array, scalar
from fluidkv.figures.style import BLACK, BLUE, GREY, ORANGE
from fluidkv.papers.wait.figures import policies
from fluidkv.papers.wait.instances import server

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_LOAD = Fraction(4, 5)
_HORIZON = 30  # s
_RUNS = 4000
_DELTAS = ("1/2", "1/5", "1/10", "1/20", "1/50", "1/100", "1/1000")
_CONFIDENCE = 0.99


def data(runs: int = _RUNS, horizon: int = _HORIZON) -> Data:
    """Shapes (delta,): "delta", "bound" (tokens, exact eta), "lower" (with the paper's bound on
    eta), "frequency" with "low" and "high" (Clopper and Pearson, 99 %), "quantile" (the peak that
    a share delta of the runs exceeds). Scalars: "batch" M^pi, "equilibrium" M*, "peak".
    """
    from scipy.stats import binomtest

    from fluidkv.wait.chain.simulate import simulate_chain
    from fluidkv.wait.segments import Segments
    from fluidkv.wait.theory.bounds import theorem_2_memory
    from fluidkv.wait.theory.fluid import fluid_equilibrium
    from fluidkv.wait.theory.nested import integer_nested_thresholds

    system = policies.full().scaled(_LOAD)
    segments = Segments.of(system)
    least = integer_nested_thresholds(segments, server.BASE, server.PER_KV_TOKEN)
    run = simulate_chain(
        segments,
        least.thresholds,
        base=server.BASE,
        per_kv_token=server.PER_KV_TOKEN,
        runs=runs,
        horizon=float(horizon),
    )
    peak = run.peak_held.values
    deltas = [Fraction(delta) for delta in _DELTAS]
    exact, lower = (
        np.array(
            [
                theorem_2_memory(
                    segments, least.thresholds, server.BASE, horizon, delta, eta_from=eta
                ).upper
                for delta in deltas
            ]
        )
        for eta in ("exact", "lower")
    )
    above = [int((peak > bound).sum()) for bound in exact]
    ends = [binomtest(k, runs).proportion_ci(_CONFIDENCE, method="exact") for k in above]
    parts = np.array([float(delta) for delta in deltas])
    return {
        "delta": parts,
        "bound": exact,
        "lower": lower,
        "frequency": np.array(above) / runs,
        "low": np.array([end.low for end in ends]),
        "high": np.array([end.high for end in ends]),
        "quantile": np.quantile(peak, 1 - parts),
        "batch": float(least.memory),
        "equilibrium": float(fluid_equilibrium(system).memory),
        "peak": float(peak.max()),
        "runs": float(runs),
    }


def draw(data: Data, canvas: "Canvas") -> None:
    canvas.suptitle(FIGURE.title, x=0.01, ha="left")
    left, right = canvas.subplots(1, 2)
    delta, seen = array(data, "delta"), array(data, "frequency")
    left.plot(delta, delta, color=GREY, linewidth=0.9, linestyle=":", label="allowed: delta")
    left.vlines(delta, array(data, "low").clip(1e-5), array(data, "high"), color=BLUE)
    some = seen > 0
    left.plot(delta[some], seen[some], "o", color=BLUE, label="observed")
    left.plot(
        delta[~some],
        array(data, "high")[~some],
        "v",
        color=BLUE,
        fillstyle="none",
        label="never observed: at most",
    )
    left.set_yscale("log")
    left.set_ylim(1e-5, 1)
    left.set_ylabel("runs that exceed the bound")
    left.legend(loc="lower right")
    for name, color, label in (
        ("lower", ORANGE, "bound (14), the paper's eta"),
        ("bound", BLACK, "bound (14), exact eta"),
        ("quantile", BLUE, "exceeded by a share delta of the runs"),
    ):
        right.plot(delta, array(data, name), color=color, marker=".", label=label)
    for name, label in (("batch", "M^pi, a full batch"), ("equilibrium", "M*")):
        right.axhline(scalar(data, name), color=GREY, linewidth=0.9, linestyle=":")
        right.annotate(
            label,
            (delta.min(), scalar(data, name)),
            (0, 2),
            textcoords="offset points",
            fontsize=8,
            color=GREY,
        )
    right.set_ylabel("tokens (axis cut below M*)")
    right.set_ylim(0.97 * scalar(data, "equilibrium"), None)
    right.legend(loc="lower right", bbox_to_anchor=(1.0, 0.12))
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_xlabel("delta")


def caption(data: Data) -> str:
    delta, seen, high = (array(data, name) for name in ("delta", "frequency", "high"))
    bound, quantile = array(data, "bound"), array(data, "quantile")
    star = scalar(data, "equilibrium")
    rows = ", ".join(
        f"{value:.2%} (at most {most:.2%}) at delta = {d:g}"
        for value, most, d in zip(seen, high, delta, strict=True)
    )
    over = bound / quantile - 1
    return (
        f"The two types of figure wait_policies at {float(_LOAD):.0%} of the rate, Nested WAIT "
        f"with the least thresholds, {scalar(data, 'runs'):,.0f} runs of {_HORIZON} s from empty, "
        f"without a limit. Runs that exceed the bound of Theorem 2 (99 % confidence): {rows}. The "
        f"bound is {over.min():.1%} to {over.max():.1%} above the memory that a share delta of the "
        f"runs exceeds. But the full batch alone, {scalar(data, 'batch'):,.0f} tokens, is "
        f"{scalar(data, 'batch') / star:.2f} times M* = {star:,.0f}; the safety buffer is "
        f"{bound.min() - scalar(data, 'batch'):,.0f} to {bound.max() - scalar(data, 'batch'):,.0f} "
        "tokens."
    )


FIGURE = Figure(
    id="wait_overflow",
    title="The bound on overflow holds, and is loose in frequency but tight in tokens",
    source="WAIT, Theorem 2 (equation 14)",
    parameters={
        "lengths": [list(pair) for pair in policies.LENGTHS],
        "part_of_full_rate": str(_LOAD),
        "horizon_s": _HORIZON,
        "runs": _RUNS,
        "deltas": list(_DELTAS),
        "confidence": _CONFIDENCE,
        "seed": 0,
    },
    size=(9.5, 4.0),
    data=data,
    draw=draw,
    caption=caption,
)
