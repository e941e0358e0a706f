"""Congestion, section 6.1 and Figure 4: Poisson arrivals between the worst-cycle rate and x*.

The paper prints M, l0, l1 and one rate, 1.40. Open, and chosen here: an empty server at the start,
the horizon, the number of runs, and what counts as collapsed. Masses, as in section 2.3 and after.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache

from fluidkv import exact, fluid
from fluidkv.exact.one_class.cycles import maximal_eviction_cycle
from fluidkv.ledger import Evidence, Finding, Instance, Origin, Outcome, np, rounds_to
from fluidkv.workload import System
from fluidkv_papers.congestion.experiments.open_runs import one_class, poisson
from fluidkv_papers.congestion.paper import statements

INPUT, DECODE, CAPACITY = 10, 40, 2000
ITERATIONS, WINDOW, SEED = 8000, 1000, 4
_RUNS = 12
_BELOW, _JUST_ABOVE, _INSIDE = (0.8, 0.95), (1.01, 1.05), 1.4
_RATES = (*_BELOW, *_JUST_ABOVE, _INSIDE)

_RANGE = f"{_RUNS} runs a rate, {ITERATIONS} iterations from an empty server"

CLAIMS = statements(origin=Origin.REPRODUCTION, evidence=Evidence.SAMPLED)
FIGURE_4 = CLAIMS.section("figure-4", "section 6.1")


def system() -> System:
    return one_class(INPUT, DECODE, CAPACITY)


def worst_rate() -> Fraction:
    """T_{l1-1}: requests per iteration on the maximal-eviction cycle."""
    return maximal_eviction_cycle(system()).throughput


def best_rate() -> Fraction:
    """x*."""
    return exact.eviction_free_equilibrium(system()).rate


@cache
def runs(rates: tuple[float, ...] = _RATES, count: int = _RUNS) -> "dict[str, np.ndarray]":
    """Each rate `count` times; arrays of shape (rate, run, window).

    Keys: completed, evicted, arrived (requests per iteration), evicting (share of the iterations),
    waiting (mean queue) and queue (at the end of the window).
    """
    from fluidkv.runs import random_key

    each = np.repeat(rates, count)[:, None] * np.ones(ITERATIONS)
    means = fluid.class_rates(system().workload, each)
    found = fluid.simulate_open(
        system(),
        arrivals=fluid.poisson_arrivals(random_key(SEED), means),
        every=WINDOW,
        record=("arrived", "completed", "evicted", "evicting", "queue_time", "queue"),
    ).isel({"class": 0})
    means = {name: found[name].values / WINDOW for name in ("arrived", "completed", "evicted")}
    means |= {"evicting": found.evicting.values / WINDOW, "queue": found.queue.values}
    means["waiting"] = found.queue_time.values / WINDOW
    return {name: v.reshape(len(rates), count, -1) for name, v in means.items()}


@CLAIMS.claim(
    "figure-4.worst-rate", "Figure 4, caption", origin=Origin.PRINTED, evidence=Evidence.EXACT
)
def _worst_rate() -> Outcome:
    """With M = 2000, l0 = 10, l1 = 40 the worst cycle completes 1.00 requests per iteration."""
    return rounds_to(worst_rate(), "1.00")


@CLAIMS.claim(
    "figure-4.best-rate", "Figure 4, caption", origin=Origin.PRINTED, evidence=Evidence.EXACT
)
def _best_rate() -> Outcome:
    """There x* is 1.64 requests per iteration."""
    return rounds_to(best_rate(), "1.64")


@FIGURE_4.claim(
    "below",
    "and Figure 4 (b)",
    checked=f"rates 0.8 and 0.95, {_RANGE}",
    note=f"Rates {_BELOW}. Lasting would be a window of {WINDOW} with evictions in a tenth of it.",
)
def _smooth_below() -> Iterator[Instance]:
    """Below the worst-cycle rate evictions are transient and the queue stays near zero.

    Ours: at most {max:.2%} of a run's iterations evict, and no queue is left at the end
    Paper: evictions are transient and the queue stays small"""
    # Nothing evicted in the last window, nobody waiting at its end, in every run.
    for rate, evicting, queue in zip(_RATES, runs()["evicting"], runs()["queue"], strict=True):
        if rate in _BELOW:
            gone = evicting.max() <= 0.1 and queue[:, -1].max() == 0
            yield Instance(gone, float(evicting.mean(axis=1).max()), f"rate {rate}")


@FIGURE_4.claim("collapsed", "and Figure 4 (a), (c)", checked=f"rate 1.4, {_RANGE}")
def _collapsed_inside() -> Finding:
    """At rate 1.40, below x*, throughput is the worst-cycle rate and evictions persist.

    Paper: throughput equals the worst-cycle rate, with persistent evictions"""
    rate, evicted = (runs()[name][-1, :, -1] for name in ("completed", "evicted"))
    # The cycle has 40 iterations and a window is 25 of them, so its mean is the cycle's to the
    # rounding of sums, unless the run is still on its way there.
    off = abs(rate - float(worst_rate())).max()
    return Finding(
        (off < 1e-9 and evicted.min() > 1) or f"rate {rate.max():.4f}",
        f"{rate.min():.4f} ... {rate.max():.4f} completed and {evicted.min():.3f} ... "
        f"{evicted.max():.3f} evicted per iteration",
        note=f"Rate {_INSIDE}. Means over the last {WINDOW} of {ITERATIONS} iterations. In masses; "
        "whole requests settle on other cycles.",
    )


@FIGURE_4.claim("queue-grows", "and Figure 4 (c)", checked=f"rate 1.4, {_RANGE}")
def _queue_grows() -> Finding:
    """At rate 1.40 the queue grows by what arrives in excess of the worst-cycle rate.

    Paper: excess arrivals accumulate"""
    queue = runs()["queue"][-1]
    drift = (queue[:, -1] - queue[:, -4]) / (3 * WINDOW)
    want = _INSIDE - float(worst_rate())
    # Poisson arrivals: the drift of one run has a standard error of sqrt(1.4 / 3000) = 0.022, and
    # their mean one of 0.0054; five of those.
    near = abs(drift.mean() - want) < 5 * (_INSIDE / (3 * WINDOW * _RUNS)) ** 0.5
    return Finding(
        None if near and drift.min() > 0 else f"drift {drift.mean():.4f}",
        f"{drift.mean():.3f} requests per iteration, {drift.min():.3f} or more in each run",
        note=f"Rate {_INSIDE}, last {3 * WINDOW} iterations; {want:.2f} is the rate of arrivals "
        "less the worst-cycle rate.",
    )


@FIGURE_4.undecided(
    "departs-at-the-worst-rate", "and Figure 4 (a)", checked=f"rates 1.01 and 1.05, {_RANGE}"
)
def _departs_at_once() -> Finding:
    """Throughput leaves the lossless line once the rate exceeds the worst-cycle rate.

    Paper: when the rate exceeds the worst-cycle rate, throughput equals the worst-cycle rate
    Note: From an empty server; the paper prints neither its start nor its horizon. Collapse needs a
    chance excess of arrivals to fill the memory; close to the worst-cycle rate that is rare, and
    the smooth state outlives the horizon. The same rates do not bring a collapsed server back."""
    found = runs()
    smooth = []
    for i, rate in enumerate(_JUST_ABOVE, start=len(_BELOW)):
        served = found["completed"][i].mean() / found["arrived"][i].mean()
        still = int((found["evicting"][i, :, -1] < 0.1).sum())
        smooth.append((rate, still, served, found["queue"][i, :, -1].max()))
    holding = [s for s in smooth if s[1] > 0]
    rate, still, served, queue = holding[-1] if holding else (0.0, 0, 0.0, 0.0)
    return Finding(
        not holding or f"rate {rate}: {still} of {_RUNS} runs smooth",
        f"at rate {rate}, {still} of {_RUNS} runs complete {served:.1%} of what arrives and none "
        f"keeps a queue (at most {queue:.0f} waiting at the end)",
    )


@FIGURE_4.claim(
    "settles-from-collapse",
    checked=f"rate 1.05, {_RUNS} runs, {ITERATIONS} iterations from the worst cycle",
)
def _does_not_come_back() -> Finding:
    """A collapsed server above the worst-cycle rate stays at it.

    Paper: above the worst-cycle rate the system settles around it"""
    rate, model = _JUST_ABOVE[-1], fluid.class_model(system())
    found = fluid.simulate_open(
        model,
        arrivals=poisson(system(), rate, iterations=ITERATIONS, count=_RUNS, seed=SEED + 1),
        start=fluid.burst_state(model),
        queue=[200.0],
        every=WINDOW,
        record=("evicting", "queue", "completed"),
    )
    back = int((found.evicting.values[:, -1] < 0.1 * WINDOW).sum())
    served = float(found.completed.isel(iteration=-1).mean()) / WINDOW
    return Finding(
        back == 0 or f"{back} of {_RUNS} runs came back",
        f"none of {_RUNS} runs comes back; {served:.4f} completed per iteration at the end",
        note=f"Rate {rate}, from the maximal-eviction cycle with 200 waiting.",
    )
