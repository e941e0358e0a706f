"""Congestion, Figures 30, 33 and 34: mixing and rate limits under periodic bursts.

The paper prints neither period, window nor factors, nor the rate between bursts. Chosen here: the
nodes of Tables 4 and 5 with a queue, Poisson arrivals whose rate is `factor` times the mean in the
first `window` iterations of each period and lower between them, so that the mean stays.
"""

from functools import cache, partial
from itertools import pairwise

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import sampled
from fluidkv.papers.congestion.claims.experiments._open_runs import Totals, totals
from fluidkv.papers.congestion.claims.experiments._routing import (
    COPRIME,
    PARTIAL,
    Lengths,
    Routing,
    certified,
    node,
)
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

ITERATIONS, RUNS, SEED = 4000, 8, 33
RATE = {COPRIME: 1.0, PARTIAL: 0.35}
"""Mean requests an iteration at each node."""
PERIOD, WINDOW = 200, 40
FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0)

WINDOW_FACTOR, WINDOWS_A_PERIOD = 3.0, 5
"""For the sweep over windows: bursts at three times the mean, a fifth of the time."""
WINDOWS = (1, 2, 5, 10, 20, 40, 80, 160, 400)
_NOT_SHORTEST = tuple(w for w in WINDOWS if w >= 5)
"""From the window on where mixing saves least: known from the sweep itself, not from the paper."""

POLICIES = {
    "greedy": (False, "total"),
    "total": (True, "total"),
    "class": (True, "class"),
}
"""Greedy; admission capped at x* in all; capped at p_k x* for each class."""


@cache
def burst_totals(
    routing: Routing,
    lengths: Lengths,
    policy: str = "greedy",
    *,
    factor: float,
    window: int = WINDOW,
    period: int = PERIOD,
) -> Totals:
    """One node: means over the runs, of all iterations."""
    import jax

    from fluidkv.fluid.open.arrivals import bursts, class_rates, poisson_arrivals
    from fluidkv.runs.rates import contrast_of

    system = node(routing, lengths)
    rates = bursts(
        class_rates(system.workload, RATE[routing]),
        iterations=ITERATIONS,
        period=period,
        window=window,
        contrast=contrast_of(factor, period=period, window=window),
        keep_mean=True,
    )
    arrivals = poisson_arrivals(jax.random.key(SEED), rates, count=RUNS)
    limited, on = POLICIES[policy]
    x = float(certified(routing, lengths).equilibrium.rate)
    return totals(system, arrivals, cap=x if limited else None, cap_on=on)


def segregated_evictions(routing: Routing, policy: str = "greedy", **burst) -> float:
    """Requests evicted by a node in a run, average of the two."""
    seen = [burst_totals(routing, pool, policy, **burst).evicted for pool in routing.segregated]
    return ITERATIONS * sum(seen) / 2


def mixed_evictions(routing: Routing, policy: str = "greedy", **burst) -> float:
    return ITERATIONS * burst_totals(routing, routing.mixed, policy, **burst).evicted


def _mixing_reduces(routing: Routing) -> Outcome:
    bad, told = None, []
    for factor in FACTORS:
        apart = segregated_evictions(routing, factor=factor)
        pooled = mixed_evictions(routing, factor=factor)
        told.append(f"{factor:g}: {apart:.1f} and {pooled:.1f}")
        if pooled >= apart and bad is None:
            bad = f"factor {told[-1]}"
    return sampled(
        bad,
        "; ".join(told) + " (factor: evictions of a node apart and mixed)",
        "mixing reduces eviction pressure under greedy admission",
        refuted=Evidence.SAMPLED,
    )


def _limited_is_zero(routing: Routing, policy: str) -> Outcome:
    worst = max(
        (ITERATIONS * burst_totals(routing, pool, policy, factor=factor).evicted, pool, factor)
        for factor in FACTORS
        for pool in routing.pools
    )
    evicted, pool, factor = worst
    return sampled(
        f"{evicted:.1f} evicted, lengths {pool}, burst factor {factor:g}" if evicted else None,
        f"at most {evicted:.1f} requests evicted in {ITERATIONS} iterations",
        "rate-limited policies remain at zero eviction",
        "A cap on the total lets one class in beyond its share when chance fills the queue with "
        "it; x* is the rate of the mix, and too much for the longer requests."
        if policy == "total"
        else "No class exceeds its part of the equilibrium, whatever waits.",
        refuted=Evidence.SAMPLED,
    )


def window_ratio(routing: Routing, window: int) -> float:
    """Evictions mixed over evictions apart, bursts of this length."""
    burst = {
        "factor": WINDOW_FACTOR,
        "window": window,
        "period": WINDOWS_A_PERIOD * window,
    }
    return mixed_evictions(routing, **burst) / segregated_evictions(routing, **burst)


def _longer_windows_help(windows: tuple[int, ...]) -> Outcome:
    ratios = {w: window_ratio(COPRIME, w) for w in windows}
    told = ", ".join(f"{r:.3f} at {w}" for w, r in ratios.items())
    rises = (
        f"{ratios[short]:.3f} at {short}, {ratios[long]:.3f} at {long}"
        for short, long in pairwise(windows)
        if ratios[long] >= ratios[short]
    )
    return sampled(
        next(rises, None),
        f"evictions mixed over apart: {told} iterations",
        "short bursts may not realise the coprime pool; longer bursts do",
        "Bursts much shorter than a request's service time, 6 to 15 iterations, average out "
        "and are no bursts to the server: there the ratio is lower.",
        refuted=Evidence.SAMPLED,
    )


_SWEEP = f"burst factors {', '.join(f'{f:g}' for f in FACTORS)}, {RUNS} runs"

CLAIMS = (
    congestion(
        "figure-30.longer-windows",
        "The longer a burst, the more of the segregated evictions coprime mixing saves.",
        "Figure 30, caption, and Appendix D.5",
        partial(_longer_windows_help, WINDOWS),
        kind="figure",
        expected=Verdict.FAILS,
        checked=f"windows of {', '.join(map(str, WINDOWS))} iterations, {RUNS} runs",
    ),
    congestion(
        "figure-30.longer-windows.not-the-shortest",
        f"So it is for bursts of {_NOT_SHORTEST[0]} iterations and more.",
        "Figure 30, caption, and Appendix D.5, amended",
        partial(_longer_windows_help, _NOT_SHORTEST),
        kind="figure",
        checked=f"windows of {', '.join(map(str, _NOT_SHORTEST))} iterations, {RUNS} runs",
    ),
    *(
        claim
        for number, routing, name in ((33, COPRIME, "coprime"), (34, PARTIAL, "partial"))
        for claim in (
            congestion(
                f"figure-{number}.mixing",
                f"Under bursts and greedy admission {name} mixing evicts less.",
                f"Figure {number}, caption",
                partial(_mixing_reduces, routing),
                kind="figure",
                checked=_SWEEP,
            ),
            congestion(
                f"figure-{number}.rate-limit-on-the-total",
                "With admission capped at x* in all, no node evicts.",
                f"Figure {number}, caption, with the policy of section 5.1",
                partial(_limited_is_zero, routing, "total"),
                kind="figure",
                expected=Verdict.FAILS,
                checked=_SWEEP,
            ),
            congestion(
                f"figure-{number}.rate-limit-on-classes",
                "With each class capped at its part of x*, no node evicts.",
                f"Figure {number}, caption, amended",
                partial(_limited_is_zero, routing, "class"),
                kind="figure",
                checked=_SWEEP,
            ),
        )
    ),
)
