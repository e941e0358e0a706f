"""`restart` for equal requests, counted by cohort: thousands of open runs for a long time.

Requests of one length that lose all progress on eviction are interchangeable: how many run at each
stage and how many wait is the whole state, and an iteration without eviction costs the same for any
number of requests. The counts equal those of `serve(..., Server("restart", ...))` row by row.

Source: Congestion, section 2.2 with the arrivals A^n of section 6.1, in whole requests.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.plain import plain_tuple
from fluidkv.serving.limits import Limits
from fluidkv.workload import RequestClass


class CohortState(NamedTuple):
    """Between two iterations.

    Fields:
        cohorts: requests that run with 1 ... l1 - 1 outputs.
        queue: requests that wait.
        credit: of the rate limit, what is left of a permit, over the denominator of the rate.

    Examples:
        >>> from fluidkv.serving import serve_cohorts
        >>> from fluidkv.serving.metastability.cohorts import CohortState
        >>> state = CohortState(np.array([[2], [1]]), np.array([5]), np.array([0]))
        >>> records, after = serve_cohorts(fk.RequestClass(1, 3), fk.Limits(20), [[0]], state=state)
        >>> after.cohorts.tolist(), after.queue.tolist()
        ([[5], [2]], [0])
    """

    cohorts: Int[np.ndarray, "outputs run"]
    queue: Int[np.ndarray, " run"]
    credit: Int[np.ndarray, " run"]

    def select(self, kept: np.ndarray) -> "CohortState":
        """The runs of an index or a mask."""
        return CohortState(self.cohorts[:, kept], self.queue[kept], self.credit[kept])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


class CohortRecords(NamedTuple):
    """What `serve` counts, by the same names: flows are sums over a window, levels means."""

    preempt: Int[np.ndarray, "run window"]
    completed: Int[np.ndarray, "run window"]
    waiting: Float[np.ndarray, "run window"]
    used_blocks: Float[np.ndarray, "run window"]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


def idle(request: RequestClass, runs: int, *, queue: int = 0) -> CohortState:
    """Servers with nothing running, and a queue."""
    nobody = np.zeros((request.decode_length - 1, runs), np.int64)
    return CohortState(nobody, np.full(runs, queue, np.int64), np.zeros(runs, np.int64))


def serve_cohorts(
    request: RequestClass,
    limits: Limits,
    arrivals: ArrayLike,
    *,
    state: CohortState | None = None,
    every: int = 1,
) -> tuple[CohortRecords, CohortState]:
    """Iterate `restart` on the theory's clock.

    Args:
        request: the one class; its share does not matter.
        limits: capacity, and if wanted max_num_seqs and admission_rate.
        arrivals: A^n, requests, whole numbers of shape (iteration, run); the number of iterations
            is a multiple of `every`.
        state: to go on from; None: idle.
        every: iterations of a window.

    Returns:
        Records, and the state to go on from.

    Raises:
        InputError: limits or shapes outside of what is said here.

    Examples:
        >>> from fluidkv.serving import serve_cohorts
        >>> arrivals = np.full((6, 1), 2)  # two requests an iteration, in one run
        >>> records, state = serve_cohorts(fk.RequestClass(1, 3), fk.Limits(12), arrivals)
        >>> records.completed.tolist(), records.preempt.tolist()
        ([[0, 0, 2, 1, 0, 3]], [[0, 0, 1, 0, 0, 1]])
        >>> state.queue.tolist()
        [6]
    """
    arrived = _arrivals(arrivals, every)
    _check_limits(request, limits)
    loop = _Loop(request, limits, state or idle(request, arrived.shape[1]))
    if loop.queue.shape != arrived.shape[1:]:
        raise InputError("state", f"{loop.queue.size} runs", f"{arrived.shape[1]}, as arrivals")
    shape = (len(arrived) // every, arrived.shape[1])
    preempt, completed, waiting, used = (np.zeros(shape, np.int64) for _ in range(4))
    for window in range(shape[0]):
        for n in range(window * every, (window + 1) * every):
            loop.queue += arrived[n]
            loop.evict(preempt[window])
            loop.admit()
            waiting[window] += loop.queue
            used[window] += loop.used
            completed[window] += loop.execute()
    records = CohortRecords(preempt.T, completed.T, waiting.T / every, used.T / every)
    return records, loop.state()


class _Loop:
    """The state of all runs while they run; cohorts in a ring, the slot of an iteration's own."""

    def __init__(self, request: RequestClass, limits: Limits, start: CohortState) -> None:
        self.first = request.input_length + 1  # tokens that stage 0 holds
        self.length = request.decode_length
        self.capacity, self.sequences = limits.capacity, limits.max_num_seqs
        self.rate = limits.admission_rate
        self.ages = np.arange(1, self.length)
        self.weights = (self.first + self.ages)[:, None]
        self.now = 0
        self.ring = np.zeros((self.length, start.queue.size), np.int64)
        self.ring[-self.ages] = start.cohorts  # with j outputs: admitted j iterations ago
        self.running = start.cohorts.sum(0)
        self.used = (start.cohorts * (self.weights - 1)).sum(0)
        self.queue, self.credit = start.queue.copy(), start.credit.copy()

    def state(self) -> CohortState:
        return CohortState(self.ring[(self.now - self.ages) % self.length], self.queue, self.credit)

    def evict(self, preempt: np.ndarray) -> None:
        """Each running request asks for one more token; the youngest go until the rest fits."""
        self.used += self.running
        short = np.flatnonzero(self.used > self.capacity)
        if not short.size:
            return
        excess = self.used[short] - self.capacity
        places = ((self.now - self.ages) % self.length)[:, None], short
        cohorts = self.ring[places]
        tokens = cohorts * self.weights
        freed = np.cumsum(tokens, 0)
        whole = freed <= excess  # cohorts that go whole; of the next one only what it takes
        next_one = whole.sum(0)  # there is one: what all hold is more than the excess
        runs = np.arange(short.size)
        before = freed[next_one, runs] - tokens[next_one, runs]
        part = -(-(excess - before) // self.weights[next_one, 0])
        gone = cohorts * whole
        gone[next_one, runs] = np.clip(part, 0, cohorts[next_one, runs])
        self.ring[places] = cohorts - gone
        evicted = gone.sum(0)
        self.used[short] -= (gone * self.weights).sum(0)
        self.running[short] -= evicted
        self.queue[short] += evicted
        preempt[short] += evicted

    def admit(self) -> None:
        """As many whole requests as fit, and as the caps allow."""
        admitted = np.minimum(self.queue, (self.capacity - self.used) // self.first)
        if self.sequences is not None:
            admitted = np.minimum(admitted, np.maximum(self.sequences - self.running, 0))
        if self.rate is not None:
            credit = self.credit + self.rate.numerator
            permits, self.credit = np.divmod(credit, self.rate.denominator)
            admitted = np.minimum(admitted, permits)
        self.ring[self.now % self.length] = admitted
        self.used += admitted * self.first
        self.running += admitted
        self.queue -= admitted

    def execute(self) -> np.ndarray:
        """Each emits one output; who was admitted l1 - 1 iterations ago is done."""
        last = (self.now + 1) % self.length
        done = self.ring[last].copy()
        self.ring[last] = 0
        self.used -= done * (self.first - 1 + self.length)
        self.running -= done
        self.now += 1
        return done


def _arrivals(arrivals: ArrayLike, every: int) -> Int[np.ndarray, "iteration run"]:
    values = np.asarray(arrivals)
    if values.dtype.kind not in "iu" or values.ndim != 2 or values.size == 0 or values.min() < 0:
        raise InputError(
            "arrivals",
            f"{values.dtype} of shape {values.shape}",
            "whole numbers of at least 0, (iteration, run)",
        )
    if isinstance(every, bool) or every < 1 or len(values) % every:
        raise InputError("every", every, f"a divisor of the {len(values)} iterations")
    return values


def _check_limits(request: RequestClass, limits: Limits) -> None:
    for name, plain in (("block_size", 1), ("max_num_batched_tokens", None), ("watermark", 0)):
        if getattr(limits, name) != plain:
            raise InputError(f"limits.{name}", getattr(limits, name), f"{plain} for cohorts")
    if limits.capacity < request.peak_footprint:
        raise InputError(
            "limits.capacity", limits.capacity, f"at least {request.peak_footprint}, one request"
        )
