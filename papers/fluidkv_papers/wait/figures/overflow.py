"""How often Nested WAIT exceeds the memory that Theorem 2 asks for."""

from fractions import Fraction

import numpy as np

from fluidkv import wait
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREY, ORANGE, SMALL_NOTE, name_axes
from fluidkv_papers.wait.figures import policies
from fluidkv_papers.wait.instances import server

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

    system = policies.full().scaled(_LOAD)
    segments = wait.Segments.of(system)
    least = wait.integer_nested_thresholds(segments, server.BASE, server.PER_KV_TOKEN)
    run = wait.simulate_chain(
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
                wait.theorem_2_memory(
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
        "equilibrium": float(wait.fluid_equilibrium(system).memory),
        "peak": float(peak.max()),
        "runs": float(runs),
    }


def draw(data: Data, canvas: Canvas) -> None:
    left, right = canvas.subplots(1, 2)
    delta, seen = data["delta"], data["frequency"]
    left.plot(delta, delta, color=GREY, linewidth=0.9, linestyle=":", label="allowed: delta")
    left.vlines(delta, data["low"].clip(1e-5), data["high"], color=BLUE)
    some = seen > 0
    left.plot(delta[some], seen[some], "o", color=BLUE, label="observed")
    left.plot(
        delta[~some],
        data["high"][~some],
        "v",
        color=BLUE,
        fillstyle="none",
        label="never observed: at most",
    )
    name_axes(left, y="runs that exceed the bound", log="y")
    left.set_ylim(1e-5, 1)
    left.legend(loc="lower right")
    for name, color, label in (
        ("lower", ORANGE, "bound (14), the paper's eta"),
        ("bound", BLACK, "bound (14), exact eta"),
        ("quantile", BLUE, "exceeded by a share delta of the runs"),
    ):
        right.plot(delta, data[name], color=color, marker=".", label=label)
    for name, label in (("batch", "M^pi, a full batch"), ("equilibrium", "M*")):
        right.axhline(data[name], color=GREY, linewidth=0.9, linestyle=":")
        right.annotate(label, (delta.min(), data[name]), (0, 2), **SMALL_NOTE)
    right.set(ylabel="tokens (axis cut below M*)", ylim=(0.97 * data["equilibrium"], None))
    right.legend(loc="lower right", bbox_to_anchor=(1.0, 0.12))
    for ax in (left, right):
        name_axes(ax, "delta", log="x")


def caption(data: Data) -> str:
    delta, seen, high = (data[name] for name in ("delta", "frequency", "high"))
    bound, quantile = data["bound"], data["quantile"]
    star = data["equilibrium"]
    rows = ", ".join(
        f"{value:.2%} (at most {most:.2%}) at delta = {d:g}"
        for value, most, d in zip(seen, high, delta, strict=True)
    )
    over = bound / quantile - 1
    return (
        f"The two types of figure wait.policies at {float(_LOAD):.0%} of the rate, Nested WAIT "
        f"with the least thresholds, {data['runs']:,.0f} runs of {_HORIZON} s from empty, "
        f"without a limit. Runs that exceed the bound of Theorem 2 (99 % confidence): {rows}. The "
        f"bound is {over.min():.1%} to {over.max():.1%} above the memory that a share delta of the "
        f"runs exceeds. But the full batch alone, {data['batch']:,.0f} tokens, is "
        f"{data['batch'] / star:.2f} times M* = {star:,.0f}; the safety buffer is "
        f"{bound.min() - data['batch']:,.0f} to {bound.max() - data['batch']:,.0f} "
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
