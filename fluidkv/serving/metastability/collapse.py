"""What a collapse is, what a return is, and what a collapsed server does.

Everything is looked at in windows of l1 iterations, the time that one request runs:

    collapse   the first of `windows` windows in a row that each evict, the last of which has a
               longer queue than the first
    return     the first of `calm` windows in a row in which nothing is evicted and fewer than `few`
               wait on average

Both are told from counts that any engine has. They are conventions: `docs/metastability.md` shows
what other numbers change.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from jaxtyping import Bool, Int
from numpy.lib.stride_tricks import sliding_window_view
from numpy.random import Generator
from numpy.typing import ArrayLike

from fluidkv.record import Record
from fluidkv.serving.limits import Limits
from fluidkv.serving.metastability.cohorts import CohortState, serve_cohorts
from fluidkv.workload import RequestClass

WINDOWS = 10
"""Windows in a row that make a collapse. Ten of these in Figure 4's setting end by themselves in
less than 1 of 100 cases where lambda is at least 1.2; three do in every third case."""

CALM, FEW = 3, 10
"""Windows in a row, and waiting requests, that make a return."""

_BACKLOG = 10**9  # more than any run here serves


@dataclass(frozen=True)
class CollapsedCycle(Record):
    """A periodic orbit of the saturated server, and how many of the runs ended on it.

    Fields:
        throughput: completions per iteration, exact.
        preemptions: evictions per iteration, exact.
        period: iterations.
        runs: how many of the runs.

    Examples:
        >>> from fluidkv.serving import collapsed_cycles
        >>> request, limits = fk.RequestClass(3, 7), fk.Limits(61)
        >>> cycle = collapsed_cycles(request, limits, rng=1, runs=10, settle=60)[0]
        >>> cycle.throughput, cycle.preemptions, cycle.period
        (Fraction(1, 1), Fraction(8, 7), 7)
    """

    throughput: Fraction
    preemptions: Fraction
    period: int
    runs: int


def collapse_window(
    preempt: ArrayLike, waiting: ArrayLike, *, windows: int = WINDOWS
) -> Int[np.ndarray, " run"]:
    """First window of a collapse in each run; -1: none.

    Args:
        preempt: evictions in each window, (run, window).
        waiting: mean queue of each window.
        windows: at least 2; so many in a row evict, and the queue of the last is longer than that
            of the first.

    Returns:
        Indices, shape (run,).
    """
    queue, evicting = np.asarray(waiting), _in_a_row(np.asarray(preempt) > 0, windows)
    starts = evicting.shape[1]
    return _first_true(evicting & (queue[:, queue.shape[1] - starts :] > queue[:, :starts]))


def return_window(
    preempt: ArrayLike, waiting: ArrayLike, *, calm: int = CALM, few: float = FEW
) -> Int[np.ndarray, " run"]:
    """First of `calm` windows without eviction and with fewer than `few` waiting; -1: none."""
    quiet = (np.asarray(preempt) == 0) & (np.asarray(waiting) < few)
    return _first_true(_in_a_row(quiet, calm))


def collapsed_cycles(
    request: RequestClass, limits: Limits, *, rng: Generator | int, runs: int, settle: int = 100
) -> list[CollapsedCycle]:
    """What the collapsed state is: the orbits that a server with an endless queue ends on.

    With somebody always waiting nothing is random any more, and whole requests repeat themselves.

    Args:
        settle: windows before the orbit is looked for; it is looked for as long again.

    Returns:
        The most frequent first.

    Raises:
        ArithmeticError: a run that has not repeated itself by then.

    Examples:
        >>> from fluidkv.serving import collapsed_cycles
        >>> request, limits = fk.RequestClass(3, 7), fk.Limits(61)
        >>> cycles = collapsed_cycles(request, limits, rng=1, runs=10, settle=60)
        >>> [(cycle.throughput, cycle.period, cycle.runs) for cycle in cycles]
        [(Fraction(1, 1), 7, 7), (Fraction(6, 7), 7, 3)]
    """
    start = collapsed_start(request, limits, rng=rng, runs=runs, backlog=_BACKLOG, settle=settle)
    period = np.zeros(runs, np.int64)
    counts, found = np.zeros((2, runs), np.int64), np.zeros((2, runs), np.int64)
    state, nobody = start, np.zeros((1, runs), np.int64)
    for n in range(1, settle * request.decode_length + 1):
        records, state = serve_cohorts(request, limits, nobody, state=state)
        counts += records.completed[:, 0], records.preempt[:, 0]
        back = (state.cohorts == start.cohorts).all(0) & (state.credit == start.credit)
        first = back & (period == 0)
        period[first], found[:, first] = n, counts[:, first]
        if period.all():
            break
    if not period.all():
        raise ArithmeticError(f"{(period == 0).sum()} of {runs} runs have not repeated themselves")
    orbits, number = np.unique(np.stack([period, *found]), axis=1, return_counts=True)
    cycles = [
        CollapsedCycle(Fraction(int(done), int(n)), Fraction(int(out), int(n)), int(n), int(k))
        for (n, done, out), k in zip(orbits.T, number, strict=True)
    ]
    return sorted(cycles, key=lambda cycle: -cycle.runs)


def collapsed_start(
    request: RequestClass,
    limits: Limits,
    *,
    rng: Generator | int,
    runs: int,
    backlog: int,
    settle: int = 100,
) -> CohortState:
    """Servers that collapsed, each in its own phase, with so many requests left in the queue.

    They ran at nine tenths of x* for five windows, then with an endless queue for `settle` more.

    Examples:
        >>> from fluidkv.serving import collapsed_start
        >>> start = collapsed_start(fk.RequestClass(3, 7), fk.Limits(61), rng=1, runs=3, backlog=50)
        >>> start.queue.tolist(), start.cohorts.shape
        ([50, 50, 50], (6, 3))
    """
    generator, width = np.random.default_rng(rng), request.decode_length
    weights = width * (2 * request.input_length + width + 1) // 2  # tokens of a life, summed
    smooth = generator.poisson(0.9 * limits.capacity / weights, (5 * width, runs))
    _, state = serve_cohorts(request, limits, smooth)
    crowded = state._replace(queue=np.full(runs, _BACKLOG))
    nobody = np.zeros((settle * width, runs), np.int64)
    _, state = serve_cohorts(request, limits, nobody, state=crowded)
    return state._replace(queue=np.full(runs, backlog))


def _in_a_row(what: Bool[np.ndarray, "run window"], count: int) -> Bool[np.ndarray, "run start"]:
    """Whether it holds in so many windows from each one on; as many starts as there are."""
    if what.shape[1] < count:
        return np.zeros((what.shape[0], 0), bool)
    return np.asarray(sliding_window_view(what, count, axis=1).all(-1))


def _first_true(what: Bool[np.ndarray, "run start"]) -> Int[np.ndarray, " run"]:
    if what.shape[1] == 0:
        return np.full(what.shape[0], -1)
    return np.where(what.any(1), what.argmax(1), -1)
