"""What happened in runs, as plain arrays: a run by itself, and many together in windows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from fluidkv.runs.batch import filled_up


class RequestTimes(NamedTuple):
    """What became of requests: of one run (request), or of many (run, request).

    Times are the run's clock, NaN where the event did not come and in the padding. `longest_gap` is
    0 where there was no second token; `outputs` are tokens emitted and kept. `halted` is the time
    from an eviction to the end of the iteration that emits the next new output, of all halts that
    ended: CacheOPT's preemption time. An eviction during a halt begins no other.
    """

    arrival: Float[np.ndarray, "*run request"]
    admitted: Float[np.ndarray, "*run request"]  # first admission
    first_token: Float[np.ndarray, "*run request"]
    last_token: Float[np.ndarray, "*run request"]  # latest
    longest_gap: Float[np.ndarray, "*run request"]
    evictions: Int[np.ndarray, "*run request"]
    outputs: Int[np.ndarray, "*run request"]
    finished: Bool[np.ndarray, "*run request"]
    halted: Float[np.ndarray, "*run request"]


class Outcome(NamedTuple):
    """One run in windows; where nothing else is said, a window is an iteration.

    Fields:
        counts: sums over a window, in the order of the engine's names.
        time: the clock at the end of each window.
        done: requests served.
        stuck: nothing more can ever be served.
        requests: what became of each; None where nobody asked.
        iterations: None: as many as there are windows.
        peak, hits: as of `RunRecords`.
    """

    counts: Int[np.ndarray, "window count"]
    time: Float[np.ndarray, " window"]
    done: int
    stuck: bool
    requests: RequestTimes | None
    iterations: int | None = None
    peak: Int[np.ndarray, " window"] | None = None
    hits: Int[np.ndarray, "kind request"] | None = None


class RunRecords(NamedTuple):
    """Many runs in windows; rows that are shorter than others are padded at their end.

    Fields:
        counts: sums over a window; 0 after the run's end.
        time: the clock at the end of each window.
        iterations, done, stuck: of each run.
        requests: None where nobody asked.
        peak: most in an iteration of a window, of one of the counts; None where nobody asked.
        hits: tokens that requests found in a prefix cache, at all admissions and at their first;
            None where there is none, or nobody asked.
    """

    counts: Int[np.ndarray, "run window count"]
    time: Float[np.ndarray, "run window"]
    iterations: Int[np.ndarray, " run"]
    done: Int[np.ndarray, " run"]
    stuck: Bool[np.ndarray, " run"]
    requests: RequestTimes | None = None
    peak: Int[np.ndarray, "run window"] | None = None
    hits: Int[np.ndarray, "run kind request"] | None = None


@dataclass(eq=False, kw_only=True)
class RequestHistory:
    """What a request of a literal engine knows of itself. Times are the run's clock; None: not yet.

    Fields:
        admitted_at: start of its first prefill.
        longest_gap: between two tokens that its client sees.
        halted: from evictions to the next new output; `halted_since`: there has been one.
    """

    evictions: int = 0
    admitted_at: float | None = None
    first_token_at: float | None = None
    last_token_at: float | None = None
    longest_gap: float = 0.0
    halted: float = 0.0
    halted_since: float | None = None
    finished: bool = False

    def halt(self, now: float) -> None:
        """It is evicted. Another eviction before its next new output is of the same halt."""
        self.evictions += 1
        if self.halted_since is None:
            self.halted_since = now

    def tell(self, now: float) -> None:
        """Its client gets an output that it has not seen."""
        if self.last_token_at is None:
            self.first_token_at = now
        else:
            self.longest_gap = max(self.longest_gap, now - self.last_token_at)
        self.last_token_at = now
        if self.halted_since is not None:
            self.halted += now - self.halted_since
            self.halted_since = None


def times_of(requests: Sequence[Any], outputs: Sequence[int]) -> RequestTimes:
    """What the requests of a literal engine know of themselves: `RequestHistory`, and arrivals."""

    def column(name: str) -> np.ndarray:
        return np.array([getattr(request, name) for request in requests], np.float64)

    return RequestTimes(
        arrival=column("arrival"),  # None becomes NaN
        admitted=column("admitted_at"),
        first_token=column("first_token_at"),
        last_token=column("last_token_at"),
        longest_gap=column("longest_gap"),
        evictions=np.array([request.evictions for request in requests]),
        outputs=np.array(outputs),
        finished=np.array([request.finished for request in requests]),
        halted=column("halted"),
    )


def in_windows(outcome: Outcome, every: int, *, peak: int | None = None) -> Outcome:
    """A run of which each iteration is there, with `every` iterations a window.

    Args:
        peak: the count whose peak is recorded.
    """
    counts, time = outcome.counts, outcome.time
    highest = None if peak is None else counts[:, peak]
    if every > 1 and time.size:
        first = np.arange(0, time.size, every)
        counts = np.add.reduceat(counts, first)
        highest = None if highest is None else np.maximum.reduceat(highest, first)
        time = time[np.minimum(first + every, time.size) - 1]
    return outcome._replace(counts=counts, time=time, iterations=outcome.time.size, peak=highest)


def together(outcomes: Iterable[Outcome], *, requests: int = 0) -> RunRecords:
    """Runs side by side.

    Args:
        outcomes: looked at one by one.
        requests: records of them are so long, at least.
    """
    rows = list(outcomes)
    windows = max(len(row.time) for row in rows)
    times = [row.requests for row in rows if row.requests is not None]
    peaks = [row.peak for row in rows if row.peak is not None]
    hits = [row.hits for row in rows if row.hits is not None]
    records = RunRecords(
        _stacked([row.counts for row in rows], windows),
        _stacked([row.time for row in rows], windows),
        np.array([len(row.time) if row.iterations is None else row.iterations for row in rows]),
        np.array([row.done for row in rows]),
        np.array([row.stuck for row in rows]),
        peak=_stacked(peaks, windows) if peaks else None,
    )
    if len(times) < len(rows):
        return records
    size = max(requests, *(each.arrival.size for each in times))
    return records._replace(
        requests=RequestTimes(*(_stacked(column, size) for column in zip(*times, strict=True))),
        hits=_stacked(hits, size, axis=1) if hits else None,
    )


def _stacked(arrays: Sequence[np.ndarray], size: int, axis: int = 0) -> np.ndarray:
    """One row for each run, filled up along an axis: with NaN, whole numbers with 0."""
    fill = np.nan if arrays[0].dtype == np.float64 else 0
    return np.stack([filled_up(values, axis, size, fill) for values in arrays])
