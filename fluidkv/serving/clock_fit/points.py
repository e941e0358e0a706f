"""What a log of an engine says about its iterations, one point a tick.

A log counts tokens by the tick, not iterations. Each decoding request gets one token per iteration,
so

    iterations = (tokens generated - first tokens) / requests decoding

where first tokens come from the prefill, one for each request. How many requests decode follows
from the times of the requests; how many of them wait, preempted, from

    preempted = scheduled so far - finished so far - running

unless the log counts iterations itself. What preempted requests compute again is in no column. So a
tick is used only where none can have: no request was preempted at either end of it; or more were at
its end than at its start and no new request was scheduled (an engine that takes its preempted
requests first, as vLLM does, schedules a new one only after them).

Where iterations and preemptions are counted, a log with no such ticks has a clock all the same: as
many came back in a tick as were preempted in it and are no longer at its end, and each is taken to
compute as much as a mean prompt, since those that came last, and hold least, are preempted.
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.record import Record

RECOMPUTE = "preempted requests may have come back; what they compute again is not logged"
FIRST = "nothing is known of its start"
IDLE = "the engine was idle for a part"
NEARLY_FULL = 0.8
"""Of the pool. A request that is preempted leaves less room than this, unless it holds a fifth."""

FEW = "fewer than one request decoding, or no token"

PerTick = Float[np.ndarray, " tick"]


@dataclass(frozen=True, eq=False)
class TickPoints(Record):
    """Iterations and what they worked on, for each tick of a log; shapes (tick,).

    Fields:
        tick_ends_s: when each ends.
        duration_s: how long it lasts.
        iterations: estimated, not whole; NaN where `dropped` says FIRST or FEW.
        decoding: requests that decode, mean.
        kv_tokens: tokens in the cache, mean of both ends.
        prefill_tokens: prompt tokens; a prompt is spread evenly from scheduled to first token.
        context: tokens in the cache for each running request; NaN where none runs.
        resumed: preempted requests that came back, less those that were preempted.
        dropped: why a tick is not used; "" if it is.
        again: tokens that preempted requests computed again, reckoned; None where the log does not
            count iterations and preemptions.

    Examples:
        >>> from fluidkv.serving.clock_fit.points import tick_points
        >>> run = fk.read_log("sample:vllm-rtx4090").timed()
        >>> points = tick_points(**run.clock_arrays())
        >>> int(points.used.sum()), len(points.dropped)
        (91, 184)
        >>> [ticks for reason, ticks in points.dropped_because]
        [91, 1, 1]
    """

    tick_ends_s: PerTick
    duration_s: PerTick
    iterations: PerTick
    decoding: PerTick
    kv_tokens: PerTick
    prefill_tokens: PerTick
    context: PerTick
    resumed: PerTick
    dropped: tuple[str, ...]
    again: PerTick | None = None

    def with_again(self) -> "TickPoints":
        """The same with what was computed again among the prefill, and such ticks used."""
        if self.again is None:
            return self
        return replace(
            self,
            prefill_tokens=self.prefill_tokens + self.again,
            dropped=tuple("" if reason == RECOMPUTE else reason for reason in self.dropped),
        )

    @property
    def used(self) -> np.ndarray:
        """Which ticks are used."""
        return np.array([not reason for reason in self.dropped])

    @property
    def dropped_because(self) -> tuple[tuple[str, int], ...]:
        """Reasons with how many ticks each, the most frequent first."""
        return tuple(Counter(reason for reason in self.dropped if reason).most_common())

    @property
    def middle_s(self) -> float:
        """Half of the run: halfway from the start of the first tick to the end of the last."""
        return float(self.tick_ends_s[0] - self.duration_s[0] + self.tick_ends_s[-1]) / 2


def tick_points(
    *,
    tick_ends_s: ArrayLike,
    running: ArrayLike,
    kv_tokens: ArrayLike,
    generated_tokens: ArrayLike,
    input_lengths: ArrayLike,
    scheduled_s: ArrayLike,
    first_token_s: ArrayLike,
    last_token_s: ArrayLike,
    capacity: float | None = None,
    iterations: ArrayLike | None = None,
    preempted: ArrayLike | None = None,
) -> TickPoints:
    """One point a tick, from counters at its end and the times of all requests.

    Args:
        tick_ends_s: seconds, strictly increasing, shape (tick,), at least two.
        running: requests in the batch at the end of each tick.
        kv_tokens: tokens in the cache there.
        generated_tokens: output tokens during each tick, first tokens included.
        input_lengths: prompt tokens, shape (request,).
        scheduled_s: when each request was scheduled for the first time, on the clock of the ticks.
        first_token_s, last_token_s: when it got these; not before `scheduled_s`, in this order.
        capacity: KV tokens of the pool. Where memory is never nearly full, nobody is preempted,
            though a snapshot may lag behind what was scheduled. None: not known.
        iterations, preempted: counted during each tick; None where the log does not.

    Raises:
        InputError: shapes that differ, numbers that are not finite, ticks or times out of order.

    Examples:
        >>> from fluidkv.serving.clock_fit.points import tick_points
        >>> log = {"tick_ends_s": [1.0, 2.0, 3.0, 4.0, 5.0], "running": [1, 1, 1, 1, 0]}
        >>> log |= {"kv_tokens": [16, 32, 48, 48, 0], "generated_tokens": [1, 10, 10, 10, 0]}
        >>> log |= {"input_lengths": [10], "scheduled_s": [0.5]}
        >>> log |= {"first_token_s": [1.0], "last_token_s": [4.5]}
        >>> points = tick_points(**log)
        >>> points.iterations.round(2).tolist(), points.prefill_tokens.tolist()
        ([nan, 10.0, 10.0, 10.0, nan], [10.0, 0.0, 0.0, 0.0, 0.0])
        >>> points.used.tolist()
        [False, True, True, True, False]
    """
    ends = _column("tick_ends_s", tick_ends_s, None)
    if ends.size < 2 or (np.diff(ends) <= 0).any():
        raise InputError("tick_ends_s", f"{ends.size} times", "two or more that increase")
    batch = _column("running", running, ends.size)
    kv = _column("kv_tokens", kv_tokens, ends.size)
    generated = _column("generated_tokens", generated_tokens, ends.size)
    first = _column("first_token_s", first_token_s, None)
    scheduled = _column("scheduled_s", scheduled_s, first.size)
    last = _column("last_token_s", last_token_s, first.size)
    prompts = _column("input_lengths", input_lengths, first.size)
    _check_order(scheduled, first, last)

    edges = np.concatenate(([2 * ends[0] - ends[1]], ends))
    durations = np.diff(edges)
    out = _so_far(scheduled, ends) - _so_far(last, ends) - batch
    out = np.concatenate(([0.0], np.maximum(out, 0)))  # snapshots are not simultaneous
    if capacity is not None and kv.max() < NEARLY_FULL * capacity:
        out[:] = 0
    started = np.diff(_area(first, edges) - _area(last, edges)) / durations
    decoding = np.maximum(started - _mean_of_ends(out), 0)
    first_tokens = np.diff(_so_far(first, edges))
    in_cache, in_batch = (_mean_of_ends(np.concatenate(([0.0], x))) for x in (kv, batch))
    if iterations is None:
        few = (decoding < 1) | (generated <= first_tokens)
        estimated = (generated - first_tokens) / np.where(few, np.nan, decoding)
    else:
        estimated = _column("iterations", iterations, ends.size)
        few = estimated == 0
    estimated[few] = estimated[0] = np.nan
    context = np.full(ends.size, np.nan)
    context[in_batch > 0] = in_cache[in_batch > 0] / in_batch[in_batch > 0]

    reasons = np.full(ends.size, "", dtype=object)
    reasons[_may_recompute(out, np.diff(_so_far(scheduled, edges)))] = RECOMPUTE
    reasons[_covered(scheduled, last, edges) < durations * (1 - 1e-9)] = IDLE  # 1e-9: rounding
    reasons[few] = FEW
    reasons[0] = FIRST
    return TickPoints(
        tick_ends_s=ends,
        duration_s=durations,
        iterations=estimated,
        decoding=decoding,
        kv_tokens=in_cache,
        prefill_tokens=np.diff(_prefilled(prompts, scheduled, first, edges)),
        context=context,
        resumed=-np.diff(out),
        dropped=tuple(reasons.tolist()),
        again=None if iterations is None else _again(preempted, out, prompts),
    )


def _column(name: str, values: ArrayLike, size: int | None) -> np.ndarray:
    column = np.array(values, dtype=np.float64)
    if column.ndim != 1 or column.size == 0 or (size is not None and column.size != size):
        raise InputError(name, f"shape {column.shape}", f"{size or 'one or more'} numbers")
    if not np.isfinite(column).all():
        row = int(np.argmin(np.isfinite(column)))
        raise InputError(name, f"{column[row]} in place {row}", "finite numbers")
    return column


def _check_order(scheduled: np.ndarray, first: np.ndarray, last: np.ndarray) -> None:
    wrong = (scheduled > first) | (first > last)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError("first_token_s", f"{first[row]:g} of request {row}", "between its times")


def _again(preempted: ArrayLike | None, out: np.ndarray, prompts: np.ndarray) -> np.ndarray | None:
    """Tokens of who came back in each tick: preempted in it, less those still `out` at its end."""
    if preempted is None:
        return None
    came_back = _column("preempted", preempted, out.size - 1) - np.diff(out)
    return np.maximum(came_back, 0) * prompts.mean()


def _may_recompute(out: np.ndarray, scheduled: np.ndarray) -> np.ndarray:
    """Of each tick, from who is preempted at its ends and how many it schedules at first."""
    none_preempted = (out[1:] == 0) & (out[:-1] == 0)
    only_preempting = (np.diff(out) > 0) & (scheduled == 0)
    return ~(none_preempted | only_preempting)


def _so_far(times: np.ndarray, at: np.ndarray) -> np.ndarray:
    """How many of `times` lie at or before each moment."""
    return np.searchsorted(np.sort(times), at, side="right").astype(np.float64)


def _area(times: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The integral of `_so_far` up to each moment."""
    ordered = np.sort(times)
    sums = np.concatenate(([0.0], np.cumsum(ordered)))
    count = np.searchsorted(ordered, at, side="right")
    return count * at - sums[count]


def _prefilled(
    prompts: np.ndarray, scheduled: np.ndarray, first: np.ndarray, at: np.ndarray
) -> np.ndarray:
    """Prompt tokens computed up to each moment."""
    total = np.zeros(at.size)
    for tokens, begin, end in zip(prompts, scheduled, first, strict=True):
        total += tokens * (
            np.clip((at - begin) / (end - begin), 0, 1) if end > begin else at >= end
        )
    return total


def _covered(begin: np.ndarray, end: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Seconds of each tick in which there was a request between scheduled and last token."""
    order = np.argsort(begin, kind="stable")
    begin, reach = begin[order], np.maximum.accumulate(end[order])
    fresh = np.concatenate(([True], begin[1:] > reach[:-1]))
    starts = begin[fresh]
    stops = reach[np.concatenate((np.flatnonzero(fresh)[1:] - 1, [begin.size - 1]))]
    return np.diff(_area(starts, edges) - _area(stops, edges))


def _mean_of_ends(at_edges: np.ndarray) -> np.ndarray:
    return (at_edges[1:] + at_edges[:-1]) / 2
