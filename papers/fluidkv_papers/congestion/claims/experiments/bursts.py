"""Congestion, Figures 30, 33 and 34: mixing and rate limits under periodic bursts.

The paper prints neither period, window nor factors, nor the rate between bursts. Chosen here: the
nodes of Tables 4 and 5 with a queue, Poisson arrivals whose rate is `factor` times the mean in the
first `window` iterations of each period and lower between them, so that the mean stays.
"""

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from fluidkv import fluid, runs
from fluidkv.ledger import Evidence, Finding, Instance, Origin, np
from fluidkv.runs.rates import burst_rates, contrast_of
from fluidkv_papers.congestion.experiments import nodes
from fluidkv_papers.congestion.experiments.open_runs import Totals, totals
from fluidkv_papers.congestion.paper import statements

ITERATIONS, RUNS, SEED = 4000, 8, 33
RATE = {nodes.COPRIME: 1.0, nodes.PARTIAL: 0.35}
"""Mean requests per iteration at each node."""
PERIOD, WINDOW = 200, 40
FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0)

WINDOW_FACTOR, WINDOWS_A_PERIOD = 3.0, 5
"""For the sweep over windows: bursts at three times the mean, a fifth of the time."""
WINDOWS = (1, 2, 5, 10, 20, 40, 80, 160, 400)
_NOT_SHORTEST = tuple(w for w in WINDOWS if w >= 5)
"""From the window on where mixing saves least: known from the sweep itself, not from the paper."""

_CAPPED = {
    "capped": {"selection": "shares"},
    "queued": {},
    "class": {"cap_on": "class"},
}
"""Admission capped at x*: the paper's a_k = p_k a; classes in proportion to what waits; the same
with each class capped at p_k x*."""

_SWEEP = f"burst factors {', '.join(f'{f:g}' for f in FACTORS)}, {RUNS} runs"

CLAIMS = statements(origin=Origin.REPRODUCTION, evidence=Evidence.SAMPLED)


@cache
def burst_totals(
    routing: nodes.Routing,
    lengths: nodes.Lengths,
    policy: str = "greedy",
    *,
    factor: float,
    window: int = WINDOW,
    period: int = PERIOD,
) -> Totals:
    """One node: means over the runs, of all iterations. Greedy, or capped as `_CAPPED` says."""
    system = nodes.node(routing, lengths)
    contrast = contrast_of(factor, period=period, window=window)
    burst, between = burst_rates(1.0, period=period, window=window, contrast=contrast)
    shape = np.where(np.arange(ITERATIONS) % period < window, burst, between)
    rates = fluid.class_rates(system.workload, RATE[routing]) * shape[:, None]
    arrivals = fluid.poisson_arrivals(runs.random_key(SEED), rates, count=RUNS)
    if policy == "greedy":
        return totals(system, arrivals)
    x = float(nodes.certified(routing, lengths).equilibrium.rate)
    return totals(system, arrivals, cap=x, **_CAPPED[policy])


def segregated_evictions(routing: nodes.Routing, policy: str = "greedy", **burst) -> float:
    """Requests evicted by a node in a run, average of the two."""
    seen = [burst_totals(routing, pool, policy, **burst).evicted for pool in routing.segregated]
    return ITERATIONS * sum(seen) / 2


def mixed_evictions(routing: nodes.Routing, policy: str = "greedy", **burst) -> float:
    return ITERATIONS * burst_totals(routing, routing.mixed, policy, **burst).evicted


def _mixing_reduces(routing: nodes.Routing) -> Iterator[Instance]:
    for factor in FACTORS:
        apart = segregated_evictions(routing, factor=factor)
        pooled = mixed_evictions(routing, factor=factor)
        shown = f"{factor:g}: {apart:.1f} and {pooled:.1f}"
        yield Instance(pooled < apart, shown, f"factor {shown}")


def _limited_is_zero(routing: nodes.Routing, policy: str) -> Finding:
    evicted, pool, factor = max(
        (ITERATIONS * burst_totals(routing, pool, policy, factor=factor).evicted, pool, factor)
        for factor in FACTORS
        for pool in routing.pools
    )
    return Finding(
        not evicted or f"{evicted:.1f} evicted, lengths {pool}, burst factor {factor:g}",
        f"at most {evicted:.1f} requests evicted in {ITERATIONS} iterations",
        paper="rate-limited policies remain at zero eviction",
        note=_WHY[policy],
    )


_WHY = {
    "capped": "a_k = p_k a, as printed: no class exceeds its part of x*. A class of which none "
    "waits then stops the others, so that queues grow at any load.",
    "class": "Classes in proportion to what waits: no class exceeds its part of x*.",
}

for _number, _routing, _name in ((33, nodes.COPRIME, "coprime"), (34, nodes.PARTIAL, "partial")):
    CLAIMS.claim(
        f"figure-{_number}.mixing",
        f"Figure {_number}, caption",
        f"Under bursts and greedy admission {_name} mixing evicts less.",
        checked=_SWEEP,
        given=(_routing,),
        ours="{all} (factor: evictions of a node apart and mixed)",
        paper="mixing reduces eviction pressure under greedy admission",
    )(_mixing_reduces)
    CLAIMS.claim(
        f"figure-{_number}.rate-limit-on-the-total",
        f"Figure {_number}, caption, with the policy of section 5.1",
        "With admission capped at x* in all, a_k = p_k a, no node evicts.",
        checked=_SWEEP,
        given=(_routing, "capped"),
    )(_limited_is_zero)
    CLAIMS.claim(
        f"figure-{_number}.rate-limit-on-classes",
        f"Figure {_number}, caption, with another policy than that of section 5.1",
        "With each class capped at its part of x*, no node evicts.",
        checked=_SWEEP,
        given=(_routing, "class"),
    )(_limited_is_zero)


def window_ratio(routing: nodes.Routing, window: int) -> float:
    """Evictions mixed over evictions apart, bursts of this length."""
    burst = {
        "factor": WINDOW_FACTOR,
        "window": window,
        "period": WINDOWS_A_PERIOD * window,
    }
    return mixed_evictions(routing, **burst) / segregated_evictions(routing, **burst)


@CLAIMS.claim(
    "figure-30.longer-windows.not-the-shortest",
    "Figure 30, caption, and Appendix D.5, of longer bursts",
    f"So it is for bursts of {_NOT_SHORTEST[0]} iterations and more.",
    given=(_NOT_SHORTEST,),
    checked=f"windows of {', '.join(map(str, _NOT_SHORTEST))} iterations, {RUNS} runs",
)
@CLAIMS.undecided(
    "figure-30.longer-windows",
    "Figure 30, caption, and Appendix D.5",
    "The longer a burst, the more of the segregated evictions coprime mixing saves.",
    given=(WINDOWS,),
    checked=f"windows of {', '.join(map(str, WINDOWS))} iterations, {RUNS} runs",
)
def longer_windows_help(windows: tuple[int, ...]) -> Finding:
    ratios = {w: window_ratio(nodes.COPRIME, w) for w in windows}
    told = ", ".join(f"{r:.3f} at {w}" for w, r in ratios.items())
    rises = (
        f"{ratios[short]:.3f} at {short}, {ratios[long]:.3f} at {long}"
        for short, long in pairwise(windows)
        if ratios[long] >= ratios[short]
    )
    return Finding(
        next(rises, None),
        f"evictions mixed over apart: {told} iterations",
        paper="short bursts may not realise the coprime pool; longer bursts do",
        note="Bursts much shorter than a request's service time, 6 to 15 iterations, average out "
        "and are no bursts to the server: there the ratio is lower.",
    )
