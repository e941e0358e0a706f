"""How long an open system runs smoothly before it collapses, and what brings it back.

Between the throughput of the collapsed state and x* a server with whole requests, Poisson arrivals
and the rules of `restart` has two faces. Started empty it serves what comes; a crowd of requests
that happen to be of one age fills the memory, is evicted, and from then on memory is full of
requests that restart together, served at the collapsed rate. This file measures that for requests
of one length, by cohort (`fluidkv.serving.metastability.cohorts`): seconds for thousands of runs.
`fluidkv.serving.metastability.two_starts` asks any engine the same question, request by request.

`fluidkv.serving.metastability.collapse` says what is meant by a collapse and by a return.

Source: our own, on Congestion, section 6.1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Bool, Int
from numpy.random import Generator

from fluidkv.errors import InputError
from fluidkv.labels import Column, dataset
from fluidkv.record import Record
from fluidkv.runs.checks import above_0, count
from fluidkv.serving.limits import Limits
from fluidkv.serving.metastability.cohorts import CohortRecords, CohortState, idle, serve_cohorts
from fluidkv.serving.metastability.collapse import (
    CALM,
    FEW,
    WINDOWS,
    collapse_window,
    return_window,
)
from fluidkv.workload import RequestClass

_CHUNK = 50  # windows between two looks at who is still watched


@dataclass(frozen=True, eq=False)
class Times(Record):
    """When it happened in each run, for `fluidkv.serving.metastability.survival`.

    Fields:
        duration: iterations until it happened, or for which it is known not to have.
        observed: whether it happened.

    Examples:
        >>> from fluidkv.serving.metastability.times import Times
        >>> from fluidkv.serving.metastability.survival import hazard
        >>> times = Times(np.array([4, 6, 10]), np.array([True, True, False]))
        >>> hazard(times.duration, times.observed).rate
        0.1
    """

    duration: Int[np.ndarray, " run"]
    observed: Bool[np.ndarray, " run"]


def time_to_collapse(
    request: RequestClass,
    limits: Limits,
    rate: float,
    *,
    rng: Generator | int,
    runs: int,
    horizon: int,
    windows: int = WINDOWS,
) -> Times:
    """Start idle, serve Poisson(rate) requests per iteration, wait for the collapse.

    Args:
        request, limits: the server; see `serve_cohorts`.
        rate: lambda, requests per iteration.
        rng: a numpy generator or a seed.
        runs: at least 1.
        horizon: iterations; whole windows of l1 of it are used.
        windows: see `fluidkv.serving.metastability.collapse`. A collapse is dated at the end of
            its first window.
            That is known `windows` - 1 windows later, so runs without one are cut off that long
            before the horizon.

    Raises:
        InputError: a rate that is not finite and above 0, runs below 1, a horizon too short for
            one collapse; limits as in `serve_cohorts`.

    Examples:
        >>> request, limits = fk.RequestClass(3, 7), fk.Limits(61)
        >>> times = fk.time_to_collapse(request, limits, 0.8, rng=0, runs=4, horizon=1400)
        >>> times.observed.tolist(), times.duration.tolist()
        ([True, True, False, True], [1330, 105, 1337, 1183])
    """
    start = idle(request, count("runs", runs))
    needed = count("windows", windows, least=2)  # a queue grows from one to another

    def onset(records: CohortRecords) -> Int[np.ndarray, " run"]:
        return collapse_window(records.preempt, records.waiting, windows=needed)

    return _first(request, limits, rate, start, rng, horizon, needed, onset)


def time_to_return(
    request: RequestClass,
    limits: Limits,
    rate: float,
    start: CohortState,
    *,
    rng: Generator | int,
    horizon: int,
    calm: int = CALM,
    few: float = FEW,
) -> Times:
    """From a collapsed state at another load, or under another cap: when is it smooth again?

    Args:
        limits: as they are from now on.
        rate: lambda from now on.
        start: from `collapsed_start`.
        calm, few: see `fluidkv.serving.metastability.collapse`.

    Raises:
        InputError: as `time_to_collapse`.

    Examples:
        >>> from fluidkv.serving import collapsed_start, time_to_return
        >>> request, limits = fk.RequestClass(3, 7), fk.Limits(61)
        >>> start = collapsed_start(request, limits, rng=1, runs=3, backlog=50)
        >>> times = time_to_return(request, limits, 0.3, start, rng=1, horizon=1400)
        >>> times.observed.tolist(), times.duration.tolist()
        ([True, True, True], [91, 70, 77])
    """
    needed = count("calm", calm)

    def onset(records: CohortRecords) -> Int[np.ndarray, " run"]:
        return return_window(records.preempt, records.waiting, calm=needed, few=few)

    return _first(request, limits, rate, start, rng, horizon, needed, onset)


def ramp(
    request: RequestClass,
    limits: Limits,
    rates: Sequence[float],
    *,
    hold: int,
    rng: Generator | int,
    runs: int,
) -> xr.Dataset:
    """Load that changes in steps: up, and down again.

    Args:
        rates: lambda of each step.
        hold: iterations of a step.

    Returns:
        Dimensions run and step: `throughput` and `preemptions` an iteration, `waiting`, the mean
        over a step; coordinate `rate` (step).

    Raises:
        InputError: as `time_to_collapse`; no rates.

    Examples:
        >>> from fluidkv.serving.metastability.times import ramp
        >>> request, limits = fk.RequestClass(3, 7), fk.Limits(61)
        >>> found = ramp(request, limits, [0.5, 1.5, 0.5], hold=210, rng=0, runs=5).mean("run")
        >>> found.throughput.values.round(2).tolist(), found.preemptions.values.round(2).tolist()
        ([0.51, 0.99, 0.95], [0.01, 1.04, 0.99])
    """
    generator, steps = np.random.default_rng(rng), [above_0("rate", rate) for rate in rates]
    size = (count("hold", hold), count("runs", runs))
    if not steps:
        raise InputError("rates", rates, "at least one")
    state, found = idle(request, runs), []
    for rate in steps:
        records, state = serve_cohorts(
            request, limits, generator.poisson(rate, size), state=state, every=hold
        )
        found.append(records)
    columns: dict[str, Column] = {}
    for name, field, each, title in (
        ("throughput", "completed", hold, "requests completed"),
        ("preemptions", "preempt", hold, "preemptions"),
        ("waiting", "waiting", 1, "requests waiting"),
    ):
        values = np.concatenate([getattr(records, field) for records in found], axis=1) / each
        unit = "request / iteration" if each == hold and name != "waiting" else "request"
        columns[name] = ("run", "step"), values, unit, f"{title}, mean over the step"
    rate = {"rate": ("step", steps, "request / iteration", "arrivals")}
    return dataset(columns, rate, seed=rng if isinstance(rng, int) else None, hold=hold)


def _first(
    request: RequestClass,
    limits: Limits,
    rate: float,
    state: CohortState,
    rng: Generator | int,
    horizon: int,
    needed: int,
    onset: Callable[[CohortRecords], Int[np.ndarray, " run"]],
) -> Times:
    """Run on until `onset` finds its `needed` windows in each run; who is done is let go."""
    generator, rate, width = (
        np.random.default_rng(rng),
        above_0("rate", rate),
        request.decode_length,
    )
    total = count("horizon", horizon) // width
    if total < needed:
        raise InputError("horizon", horizon, f"at least {needed} windows of {width} iterations")
    watched = np.arange(state.queue.size)
    # An event needs all its windows: one that began later would not have been seen.
    duration = np.full(watched.size, (total - needed + 1) * width)
    observed = np.zeros(watched.size, bool)
    kept = _nothing(watched.size)
    for first in range(0, total, _CHUNK):
        size = (min(_CHUNK, total - first) * width, watched.size)
        now, state = serve_cohorts(
            request, limits, generator.poisson(rate, size), state=state, every=width
        )
        begun = first - kept.preempt.shape[1]
        kept = CohortRecords(*map(np.hstack, zip(kept, now, strict=True)))
        begins = onset(kept)
        found = begins >= 0
        duration[watched[found]] = (begun + begins[found] + 1) * width
        observed[watched[found]] = True
        watched, state = watched[~found], state.select(~found)
        if not watched.size:
            break
        # of an event that has begun, all but its last window may be known
        begun_at = max(0, kept.preempt.shape[1] - needed + 1)
        kept = CohortRecords(*(column[~found, begun_at:] for column in kept))
    return Times(duration, observed)


def _nothing(runs: int) -> CohortRecords:
    return CohortRecords(*(np.zeros((runs, 0), kind) for kind in (int, int, float, float)))
