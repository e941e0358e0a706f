"""Congestion, Table 8 and Figures 28 and 29: greedy and rate-limited admission, one class.

The table prints M, l0, l1 and 4000 steps, and neither arrivals nor a start. One reading comes near
its numbers: an empty server, Poisson arrivals of 5 requests per iteration, and no queue: what does
not fit in the iteration in which it arrives or is evicted is gone. With the queue of section 2.2 no
rate does. A step's mean is one over all 4000 steps, as 0.666 is in the table.
"""

from fractions import Fraction
from functools import cache
from typing import Literal

from fluidkv import exact, fluid
from fluidkv.ledger import Evidence, Finding, Origin, Outcome, np, rounds_to, xr
from fluidkv.workload import System
from fluidkv_papers.congestion.experiments.open_runs import one_class, poisson
from fluidkv_papers.congestion.paper import statements

INPUT, DECODE, CAPACITY = 20, 20, 1000
RATE, ITERATIONS, SEED = 5.0, 4000, 8
_RUNS = 32
_EVICTIONS, _GREEDY, _LIMITED, _MORE = 2662, "1.33", "1.61", 0.207
_RATES = (1.2, 1.25, 1.3, 1.4, 1.64, 2.0, 3.0, 4.0, 5.0, 6.0)
_NEAR = 220
"""As far from 2662 as ten standard deviations of a run without a queue at the rate that is near."""
_CHOSEN = f"{_RUNS} runs of {ITERATIONS} iterations, rate {RATE:g}, empty server, no queue"
_SWEPT = f"{len(_RATES)} Poisson rates, {_RUNS} runs of {ITERATIONS} iterations"

CLAIMS = statements(origin=Origin.REPRODUCTION, evidence=Evidence.SAMPLED, checked=_CHOSEN)
TABLE_8 = CLAIMS.section("table-8", "Table 8")


def system() -> System:
    return one_class(INPUT, DECODE, CAPACITY)


def best_rate() -> Fraction:
    """x*."""
    return exact.eviction_free_equilibrium(system()).rate


@cache
def runs(
    limited: bool, *, rate: float = RATE, blocked: Literal["wait", "lost"] = "lost"
) -> "xr.Dataset":
    """Requests completed, evicted and admitted over each run, and iterations that evict."""
    return fluid.simulate_open(
        system(),
        arrivals=poisson(system(), rate, iterations=ITERATIONS, count=_RUNS, seed=SEED),
        cap=float(best_rate()) if limited else None,
        blocked=blocked,
        every=ITERATIONS,
        record=("completed", "evicted", "admitted", "evicting"),
    ).isel(iteration=0)


def by_run(name: str, limited: bool, **reading):
    return runs(limited, **reading)[name].values.sum(axis=-1)


@TABLE_8.claim("mean-eviction-rate", origin=Origin.PRINTED, evidence=Evidence.EXACT)
def _mean_rate() -> Outcome:
    """2662 evictions in 4000 steps are 0.666 a step.

    Checked: the printed case"""
    return rounds_to(Fraction(_EVICTIONS, 4000), "0.666")


@CLAIMS.undecided(
    "table-8.queue-of-section-2",
    "Appendix D, on the model-based simulator, and Table 8",
    "Where requests wait, as in section 2.2, one rate gives both numbers of greedy admission.",
    given=("wait",),
    checked=_SWEPT,
)
@TABLE_8.claim(
    "greedy-evictions",
    "",
    "Without a queue one rate gives both numbers of greedy admission, 2662 evictions and 1.33.",
    given=("lost",),
    checked=_SWEPT,
)
def _both_numbers(blocked: Literal["wait", "lost"]) -> Finding:
    """One number selects the rate; the other does not have to come with it."""
    tried, near = [], False
    for rate in _RATES:
        evicted = by_run("evicted", False, rate=rate, blocked=blocked).mean()
        done = by_run("completed", False, rate=rate, blocked=blocked).mean() / ITERATIONS
        tried.append(f"{rate:g}: {done:.3f} and {evicted:.0f}")
        near |= 1.325 <= done < 1.335 and abs(evicted - _EVICTIONS) < _NEAR
    return Finding(
        None if near else "no rate of those tried",
        "; ".join(tried) + " (rate: completed per iteration and evictions)",
        paper=f"{_GREEDY} and {_EVICTIONS}",
        note="Evicted and waiting requests stay in the queue, as section 2.2 says."
        if blocked == "wait"
        else "That one rate gives two numbers does not show that the paper did this.",
    )


@TABLE_8.claim(
    "limited-throughput.from-the-first-completion",
    ", counted otherwise",
    "With the cap x* it is 1.61, not counting the 20 steps in which nothing can complete.",
    given=(True, _LIMITED, ITERATIONS - DECODE),
)
@TABLE_8.undecided("limited-throughput", "", "With the cap x* it is 1.61.", given=(True, _LIMITED))
@TABLE_8.claim(
    "greedy-throughput",
    "",
    "Greedy admission completes 1.33 requests a step.",
    given=(False, _GREEDY),
)
def throughput(limited: bool, printed: str, steps: int = ITERATIONS) -> Finding:
    done = by_run("completed", limited) / steps
    seen, error = done.mean(), done.std() / len(done) ** 0.5
    low, high = float(printed) - 0.005, float(printed) + 0.005
    return Finding(
        low <= seen < high or f"{seen:.4f}",
        f"{seen:.4f}, standard error {error:.4f}",
        paper=printed,
        note=f"The mean over the runs is to round to the printed number. Over {steps} steps; "
        f"nothing can complete in the first {DECODE} of {ITERATIONS}.",
    )


@TABLE_8.claim("improvement")
def _ratio() -> Finding:
    """Rate-limited admission completes 20.7 % more.

    Paper: 20.7 %"""
    gain = by_run("completed", True) / by_run("completed", False) - 1
    inside = gain.min() <= _MORE <= gain.max()
    return Finding(
        None if inside else f"{gain.min():.1%} ... {gain.max():.1%}",
        f"{gain.mean():.1%}, {gain.min():.1%} ... {gain.max():.1%} over the runs",
    )


@TABLE_8.claim("no-eviction", "and Figure 28", checked=f"{_CHOSEN}, and with a queue")
def _no_eviction_with_the_cap() -> Finding:
    """Rate-limited admission evicts nothing.

    Paper: 0
    Note: One class: section 5.1 proves it from an empty server."""
    most = max(by_run("evicted", True, blocked=b).max() for b in ("lost", "wait"))
    return Finding(
        most == 0 or f"{most:g} evicted", f"{most:g} in {2 * _RUNS} runs, with and without a queue"
    )


def sweep(caps: tuple[float, ...], count: int) -> "dict[str, np.ndarray]":
    """At each cap, the same arrivals; shape (cap, run).

    Completed per iteration from the first completion on, as Figure 29 draws it; evicted per
    iteration of all.
    """
    arrivals = poisson(system(), RATE, iterations=ITERATIONS, count=count, seed=SEED)
    found = fluid.simulate_open(
        system(),
        arrivals=np.tile(arrivals, (len(caps), 1, 1)),
        cap=np.repeat(caps, count),
        blocked="lost",
        every=ITERATIONS,
        record=("completed", "evicted"),
    ).isel({"iteration": 0, "class": 0})
    means = {"completed": found.completed.values / (ITERATIONS - DECODE)}
    means["evicted"] = found.evicted.values / ITERATIONS
    return {name: values.reshape(len(caps), count) for name, values in means.items()}


@CLAIMS.claim("figure-29.peak", "Figure 29, caption", checked=f"17 caps, rate {RATE:g}, no queue")
def _peak() -> Finding:
    """Throughput over the cap peaks near x* and declines beyond it.

    Paper: throughput peaks near x* and declines beyond it
    Note: Caps 0.7 x* ... 1.5 x* in steps of 0.05 x*; 8 runs each."""
    x = float(best_rate())
    caps = tuple(x * (0.7 + 0.05 * i) for i in range(17))
    done = sweep(caps, 8)["completed"].mean(axis=1)
    best = caps[int(done.argmax())] / x
    steps = done[1:] - done[:-1]
    rising, falling = bool((steps[:6] > 0).all()), bool((steps[9:] < 0).all())
    near = 0.95 <= best <= 1.1
    return Finding(
        None if near and rising and falling else f"peak at {best:.2f} x*",
        f"peak at {best:.2f} x*, rising up to x*, falling from 1.15 x* on",
    )
