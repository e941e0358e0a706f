"""WAIT, Theorem 1: what is lost over long horizons, in runs of counts, many at once.

Two types with l = 1, l' = 1 and 2, and d0 = 1/2. In balance lambda Delta T = n for both; with slack
below for one of them or both. The theorem's orders are lost; they are given back from appendix B.
"""

from functools import cache

from fluidkv import wait
from fluidkv.ledger import Evidence, Finding, Origin, xr
from fluidkv_papers import theory
from fluidkv_papers.wait.instances.statistics import ERRORS, mean_and_error
from fluidkv_papers.wait.instances.systems import two_types
from fluidkv_papers.wait.paper import statements

CLAIMS = statements(origin=Origin.READING, evidence=Evidence.SAMPLED)

_FIRST = 50  # the shortest horizon, in iterations of the equilibrium
_ZETAS = (1, 4, 16, 64)
_RUNS = 500
_CONFIDENCE = 0.99
_N = (2, 2)
_LONG = f"two types, n = 2, 2, {_RUNS} runs to each of T = {_FIRST} zeta, zeta = 1 ... {_ZETAS[-1]}"
LONG = CLAIMS.section(kind="theorem", checked=_LONG)
_SLACK = "appendix B, Strictly Negative Drift Case"


@cache
def _study(case: str) -> "theory.GapStudy":
    return theory.throughput_gap(
        two_types(case),
        _N,
        _ZETAS,
        horizon=_FIRST,
        runs=_RUNS,
        seed=1,
        fit_from=4,
        confidence=_CONFIDENCE,
    )


@cache
def _runs(case: str, zeta: int) -> "xr.Dataset":
    horizon = float(_FIRST * zeta)
    return wait.simulate_chain(two_types(case), _N, runs=_RUNS, horizon=horizon, seed=2)


@LONG.claim(
    "theorem-1.throughput",
    "Theorem 1",
    "With equality in (11) the throughput gap is at most of order (zeta T)^-1/2.",
    given=("equality",),
)
@LONG.claim(
    "theorem-1.slack.throughput",
    _SLACK,
    "With slack for all types the throughput gap is of order (zeta T)^-1.",
    given=("slack",),
)
def _gap_bound(case: str) -> Finding:
    """The gap at every horizon against the bound with constants.

    The study counts outputs as they come. The paper counts those of completed prompts: at most n at
    each stage have k of their l' outputs, k = 1..l'-1.
    """
    study, system, seen, bad = _study(case), two_types(case), [], None
    unfinished = sum(
        n * each.output_length * (each.output_length - 1) // 2
        for n, each in zip(_N, system.types, strict=True)
    )
    for zeta, gap, error in zip(_ZETAS, study.gap, study.gap_error, strict=True):
        time = _FIRST * zeta
        bound, most = (
            wait.theory.bounds.theorem_1_gap(system, _N, time).throughput_gap,
            gap + unfinished / time,
        )
        seen.append(f"{most:.3f} <= {bound:.3f}")
        if most - ERRORS * error > bound:
            bad = bad or f"T={time}: {most:.4f} ± {error:.4f} > {bound:.4f}"
    order = "(zeta T)^-1/2" if case == "equality" else "(zeta T)^-1"
    return Finding(
        bad,
        ", ".join(seen),
        paper=f"O({order})",
        note=f"T = {', '.join(str(_FIRST * zeta) for zeta in _ZETAS)}; the constants are ours. A "
        f"bound is refuted by a mean {ERRORS} standard errors above it.",
    )


@LONG.claim(
    "theorem-1.throughput.exponent",
    "Theorem 1",
    "With equality in (11) the exponent of the throughput gap is -1/2 at most.",
    given=("equality", -0.5),
)
@LONG.claim(
    "theorem-1.slack.throughput.exponent",
    _SLACK,
    "With slack for all types the exponent of the throughput gap is -1 at most.",
    given=("slack", -1.0),
)
def _exponent(case: str, printed: float) -> Finding:
    study = _study(case)
    low, high = study.interval
    slower = low > printed
    return Finding(
        not slower or f"{low:.3f}",
        f"{study.exponent:.3f}, {100 * _CONFIDENCE:.0f} % interval {low:.3f} to {high:.3f}",
        paper=f"at most {printed:g}",
        note="Fitted to the three longest horizons. Refuted by an interval above it, which chance "
        "alone brings about one time in 200.",
    )


def _growth(case: str, types: tuple[int, ...]) -> tuple[float, float]:
    """Of the mean queue from the last horizon but one to the last, and its margin."""
    last = [_runs(case, zeta).mean_queue.values[:, list(types)] for zeta in _ZETAS[-2:]]
    growth = float(last[1].mean() / last[0].mean())
    parts = [mean_and_error(each.mean(axis=1)) for each in last]
    errors = [error / mean for mean, error in parts]
    return growth, ERRORS * growth * (errors[0] ** 2 + errors[1] ** 2) ** 0.5


@LONG.claim(
    "theorem-1.latency",
    "Theorem 1",
    "With equality in (11) mean latency and TTFT are at most of order (zeta T)^1/2.",
    given=("equality", (0, 1), 2.0),
)
@LONG.claim(
    "theorem-1.slack.latency",
    "below Proposition 4",
    "The latency of a type with slack is bounded, beside a type without.",
    given=("slack in one", (1,), 1.0),
)
def _latency(case: str, types: tuple[int, ...], most: float) -> Finding:
    """By Little's law from the mean number waiting, and at most n at each stage.

    Four times the horizon may make it `most` times as large.
    """
    system, bad, seen = two_types(case), None, []
    for zeta in _ZETAS:
        run = _runs(case, zeta)
        bounds = wait.theory.bounds.theorem_1_gap(system, _N, _FIRST * zeta).types
        for j in types:
            mean, error = mean_and_error(run.mean_queue.values[:, j])
            seen.append(f"{mean:.2f}")
            if mean - ERRORS * error > bounds[j].queue:
                bad = bad or f"T={_FIRST * zeta}, type {j + 1}: {mean:.2f} > {bounds[j].queue:.2f}"
    growth, margin = _growth(case, types)
    if growth - margin > most:
        bad = bad or f"grows by {growth:.3f} ± {margin:.3f}"
    return Finding(
        bad,
        f"mean queues {', '.join(seen)}; the last four times the horizon: times {growth:.3f}",
        paper="O((zeta T)^1/2)" if most > 1 else "O(1)",
        note=f"Mean number that wait before a batch, at T = {_FIRST} zeta; below the bound of our "
        f"constants, and growing at most by {most:g}, each within {ERRORS} standard errors. (The "
        "bound speaks of times and not of batches; it is far off.) Latency and TTFT are this over "
        "the rate, and at most n prompts at each stage.",
    )


@CLAIMS.undecided("theorem-1.exclusively", "below Proposition 4", checked=_LONG, kind="theorem")
def _exclusively() -> Finding:
    """The latency of a type depends exclusively on its own lambda Delta T and n.

    Paper: depends exclusively on the relationship between two symbols, which are lost"""
    # Type 1 has lambda Delta T = n in both cases.
    found = [
        mean_and_error(_runs(case, zeta).mean_queue.values[:, 0])
        for case in ("slack in one", "equality")
        for zeta in _ZETAS[-2:]
    ]
    means, errors = zip(*found, strict=True)
    differ = means[3] - means[1] > 6 * (errors[1] ** 2 + errors[3] ** 2) ** 0.5
    return Finding(
        not differ or "n = 2, 2, Delta T = 1, rates 2, 1 and 2, 2",
        f"{means[0]:.2f}, {means[1]:.2f} if type 2 has slack; "
        f"{means[2]:.1f}, {means[3]:.1f} if not",
        note=f"Mean queue of type 1 at T = {_FIRST * _ZETAS[-2]}, {_FIRST * _ZETAS[-1]}. "
        "Batches without type 2 are shorter, which is slack for type 1. The bounds hold, and "
        "what the next sentence makes of it (wait.theorem-1.slack.latency). Required: six "
        "standard errors.",
    )
