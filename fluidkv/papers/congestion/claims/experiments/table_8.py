"""Congestion, Table 8 and Figures 28 and 29: greedy and rate-limited admission, one class.

The table prints M, l0, l1 and 4000 steps, and neither arrivals nor a start. One reading comes near
its numbers: an empty server, Poisson arrivals of 5 requests an iteration, and no queue: what does
not fit in the iteration in which it arrives or is evicted is gone. Rate and rule were selected to
match 2662 evictions, so that this number is no evidence for them; the others are. With the queue of
section 2.2 that load leaves 1.24 completed and 4,500 evictions; without a queue, rates of 4 and 6
miss the numbers. A step's mean is one over all 4000 steps, as 0.666 is in the table.
"""

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Literal

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import rounds_to, sampled
from fluidkv.papers.congestion.claims.experiments._open_runs import one_class, poisson
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from fluidkv.workload import System

INPUT, DECODE, CAPACITY = 20, 20, 1000
RATE, ITERATIONS, SEED = 5.0, 4000, 8
_RUNS = 32
_EVICTIONS, _GREEDY, _LIMITED = 2662, "1.33", "1.61"
_CHOSEN = f"{_RUNS} runs of {ITERATIONS} iterations, rate {RATE:g}, empty server, no queue"


def system() -> "System":
    return one_class(INPUT, DECODE, CAPACITY)


def best_rate() -> Fraction:
    """x*."""
    from fluidkv.exact.survival import eviction_free_equilibrium

    return eviction_free_equilibrium(system()).rate


@cache
def runs(
    limited: bool, *, rate: float = RATE, blocked: Literal["wait", "lost"] = "lost"
) -> "xr.Dataset":
    """Requests completed, evicted and admitted over each run, and iterations that evict."""
    from fluidkv.fluid.open.system import simulate_open

    return simulate_open(
        system(),
        arrivals=poisson(system(), rate, iterations=ITERATIONS, count=_RUNS, seed=SEED),
        cap=float(best_rate()) if limited else None,
        blocked=blocked,
        every=ITERATIONS,
        record=("completed", "evicted", "admitted", "evicting"),
    ).isel(iteration=0)


def _by_run(name: str, limited: bool, **reading):
    return runs(limited, **reading)[name].values.sum(axis=-1)


def _evictions() -> Outcome:
    seen = _by_run("evicted", False)
    inside = seen.min() <= _EVICTIONS <= seen.max()
    away = (_EVICTIONS - seen.mean()) / seen.std()
    others = [_by_run("evicted", False, rate=rate).mean() for rate in (4.0, 6.0)]
    return sampled(
        None if inside else f"{seen.min():.0f} ... {seen.max():.0f}",
        f"{seen.mean():.0f}, standard deviation {seen.std():.0f} over the runs; 2662 is "
        f"{away:+.1f} of those away",
        "2662",
        f'Rate {RATE:g} and "no queue" were selected to match this number, so it does not show '
        "that the paper did this; other readings that were tried do not come near it. Rates 4 and "
        f"6 give {others[0]:.0f} and {others[1]:.0f}. Masses, so not whole numbers.",
        refuted=Evidence.SAMPLED,
    )


def _throughput(limited: bool, printed: str, steps: int = ITERATIONS) -> Outcome:
    done = _by_run("completed", limited) / steps
    seen, error = done.mean(), done.std() / len(done) ** 0.5
    low, high = float(printed) - 0.005, float(printed) + 0.005
    return sampled(
        None if low <= seen < high else f"{seen:.4f}",
        f"{seen:.4f}, standard error {error:.4f}",
        printed,
        f"The mean over the runs is to round to the printed number. Over {steps} steps; nothing "
        f"can complete in the first {DECODE} of {ITERATIONS}.",
        refuted=Evidence.SAMPLED,
    )


def _ratio() -> Outcome:
    gain = _by_run("completed", True) / _by_run("completed", False) - 1
    inside = gain.min() <= 0.207 <= gain.max()
    return sampled(
        None if inside else f"{gain.min():.1%} ... {gain.max():.1%}",
        f"{gain.mean():.1%}, {gain.min():.1%} ... {gain.max():.1%} over the runs",
        "20.7 %",
        refuted=Evidence.SAMPLED,
    )


def _with_a_queue() -> Outcome:
    """The reading of section 2.2, over rates; does any give both numbers?"""
    tried, near = [], False
    for rate in (1.2, 1.25, 1.3, 1.4, 1.64, 2.0, 5.0):
        evicted = _by_run("evicted", False, rate=rate, blocked="wait").mean()
        done = _by_run("completed", False, rate=rate, blocked="wait").mean() / ITERATIONS
        tried.append(f"{rate:g}: {done:.3f} and {evicted:.0f}")
        # As far from 2662 as the runs of the other reading are from each other, ten times over.
        near |= 1.325 <= done < 1.335 and abs(evicted - _EVICTIONS) < 220
    return sampled(
        None if near else "no rate of those tried",
        "; ".join(tried) + " (rate: completed an iteration and evictions)",
        f"{_GREEDY} and {_EVICTIONS}",
        "Evicted and waiting requests stay in the queue, as section 2.2 says.",
        refuted=Evidence.SAMPLED,
    )


def _no_eviction_with_the_cap() -> Outcome:
    most = max(_by_run("evicted", True, blocked=b).max() for b in ("lost", "wait"))
    return sampled(
        None if most == 0 else f"{most:g} evicted",
        f"{most:g} in {2 * _RUNS} runs, with and without a queue",
        "0",
        "One class: section 5.1 proves it from an empty server.",
        refuted=Evidence.FLOAT,
    )


def sweep(caps: tuple[float, ...], count: int) -> "dict[str, np.ndarray]":
    """At each cap, the same arrivals; shape (cap, run).

    Completed an iteration from the first completion on, as Figure 29 draws it; evicted an iteration
    of all.
    """
    import numpy as np

    from fluidkv.fluid.open.system import simulate_open

    arrivals = poisson(system(), RATE, iterations=ITERATIONS, count=count, seed=SEED)
    found = simulate_open(
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


def _peak() -> Outcome:
    x = float(best_rate())
    caps = tuple(x * (0.7 + 0.05 * i) for i in range(17))
    done = sweep(caps, 8)["completed"].mean(axis=1)
    best = caps[int(done.argmax())] / x
    steps = done[1:] - done[:-1]
    rising, falling = bool((steps[:6] > 0).all()), bool((steps[9:] < 0).all())
    near = 0.95 <= best <= 1.1
    return sampled(
        None if near and rising and falling else f"peak at {best:.2f} x*",
        f"peak at {best:.2f} x*, rising up to x*, falling from 1.15 x* on",
        "throughput peaks near x* and declines beyond it",
        "Caps 0.7 x* ... 1.5 x* in steps of 0.05 x*; 8 runs each.",
        refuted=Evidence.SAMPLED,
    )


CLAIMS = (
    congestion(
        "table-8.mean-eviction-rate",
        "2662 evictions in 4000 steps are 0.666 a step.",
        "Table 8",
        lambda: rounds_to(Fraction(_EVICTIONS, 4000), "0.666"),
        kind="table",
    ),
    congestion(
        "table-8.greedy-evictions",
        "Without a queue there is a rate at which greedy admission evicts 2662 in 4000 steps.",
        "Table 8",
        _evictions,
        kind="table",
        checked=_CHOSEN,
    ),
    congestion(
        "table-8.greedy-throughput",
        "Greedy admission completes 1.33 requests a step.",
        "Table 8",
        lambda: _throughput(False, _GREEDY),
        kind="table",
        checked=_CHOSEN,
    ),
    congestion(
        "table-8.limited-throughput",
        "With the cap x* it is 1.61.",
        "Table 8",
        lambda: _throughput(True, _LIMITED),
        kind="table",
        expected=Verdict.FAILS,
        checked=_CHOSEN,
    ),
    congestion(
        "table-8.limited-throughput.from-the-first-completion",
        "With the cap x* it is 1.61, not counting the 20 steps in which nothing can complete.",
        "Table 8, amended",
        lambda: _throughput(True, _LIMITED, ITERATIONS - DECODE),
        kind="table",
        checked=_CHOSEN,
    ),
    congestion(
        "table-8.improvement",
        "Rate-limited admission completes 20.7 % more.",
        "Table 8",
        _ratio,
        kind="table",
        checked=_CHOSEN,
    ),
    congestion(
        "table-8.no-eviction",
        "Rate-limited admission evicts nothing.",
        "Table 8 and Figure 28",
        _no_eviction_with_the_cap,
        kind="table",
        checked=f"{_CHOSEN}, and with a queue",
    ),
    congestion(
        "table-8.queue-of-section-2",
        "The model of section 2.2, where requests wait, gives the numbers of the table.",
        "Appendix D, on the model-based simulator, and Table 8",
        _with_a_queue,
        kind="table",
        expected=Verdict.FAILS,
        checked=f"seven Poisson rates, {_RUNS} runs of {ITERATIONS} iterations",
    ),
    congestion(
        "figure-29.peak",
        "Throughput over the cap peaks near x* and declines beyond it.",
        "Figure 29, caption",
        _peak,
        kind="figure",
        checked=f"17 caps, rate {RATE:g}, no queue",
    ),
)
