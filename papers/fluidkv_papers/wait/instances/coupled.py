"""Runs of WAIT with several types, with what is said to dominate their queues, on the same draws.

Paths are given, not judged: whether one lies above the other is for a check to look at.

Source: WAIT, Lemma 6 and appendix E. The displayed formulas are lost in our copy of the paper; they
are given back here from the proof.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from fluidkv.wait.chain.model import Shape, shapes, thresholds_of
from fluidkv.wait.model import WaitSystem


@dataclass(frozen=True)
class TypePaths:
    """WAIT with several types in continuous time, and the processes of Lemma 6 on its arrivals.

    Fields:
        end: when each batch ends.
        joined: which types it held.
        queue: prompts of each type at stage 0 at the end of the batch.
        full_time: Delta T, of a batch with all types at all stages.
        dominating: W~ after each full time: W~' = max(n, W~ + X - n), X the arrivals in it.
        dominating_at_end: W~ after the last full time that is over when the real batch ends. The
            lemma numbers both by batches, its proof compares them at a time.
    """

    end: Float[np.ndarray, "run batch"]
    joined: Bool[np.ndarray, "run batch type"]
    queue: Int[np.ndarray, "run batch type"]
    full_time: float
    dominating: Int[np.ndarray, "run batch type"]
    dominating_at_end: Int[np.ndarray, "run batch type"]


def type_paths(
    system: WaitSystem,
    thresholds: Sequence[int],
    *,
    runs: int,
    batches: int,
    seed: int = 0,
    floor: Sequence[int] | None = None,
) -> TypePaths:
    """Runs of WAIT from the empty system, literally, and Lemma 6's processes beside them.

    Args:
        thresholds: n, one a type.
        floor: where each W~ starts and is held up, one a type; None: n.

    Source: WAIT, Lemma 6 and appendix E.3.
    """
    levels = thresholds_of(system, thresholds)
    segments = shapes(system, levels)
    full_time = system.clock.duration(sum(segment.tokens(segment.span) for segment in segments), 0)
    n, low = np.array(levels), np.array(levels if floor is None else floor)
    ends, joined, queues, above, then = [], [], [], [], []
    for run in range(runs):
        came = ArrivalTimes(system, np.random.default_rng([seed, run]))
        end, who, queue = _real(system, segments, came, batches)
        times = np.arange(max(batches, int(end[-1] / full_time)) + 1) * full_time
        x = np.diff([came.until(time) for time in times], axis=0)
        path = np.empty((len(times), len(n)), np.int64)
        path[0] = low
        for b, more in enumerate(x):
            path[b + 1] = np.maximum(low, path[b] + more - n)
        ends.append(end)
        joined.append(who)
        queues.append(queue)
        above.append(path[1 : batches + 1])
        then.append(path[np.searchsorted(times, end, side="right") - 1])
    return TypePaths(
        np.array(ends), np.array(joined), np.array(queues), full_time,
        np.array(above), np.array(then),
    )  # fmt: skip


class ArrivalTimes:
    """Poisson arrivals of each type, drawn as far as they are asked for."""

    def __init__(self, system: WaitSystem, random: np.random.Generator) -> None:
        self.rates = [float(each.arrival_rate) for each in system.types]
        self.random = random
        self.times = [np.zeros(0) for _ in self.rates]

    def until(self, time: float) -> np.ndarray:
        """How many of each type have come by `time`."""
        for j in range(len(self.times)):
            while not self.times[j].size or self.times[j][-1] <= time:
                self._more(j)
        return np.array([np.searchsorted(come, time, side="right") for come in self.times])

    def next(self, type: int, number: int) -> float:
        """When the `number`-th prompt of a type comes, from 1."""
        while self.times[type].size < number:
            self._more(type)
        return float(self.times[type][number - 1])

    def _more(self, j: int) -> None:
        gaps = self.random.exponential(1 / self.rates[j], 1024)
        last = self.times[j][-1] if self.times[j].size else 0.0
        self.times[j] = np.concatenate([self.times[j], last + np.cumsum(gaps)])


def _real(
    system: WaitSystem, segments: list[Shape], came: ArrivalTimes, batches: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = np.array([segment.threshold for segment in segments])
    had = np.zeros(len(segments), np.int64)  # batches of each type
    ends, joined, queues, now = [], [], [], 0.0
    for _ in range(batches):
        now = max(now, min(came.next(j, int(n[j] * (had[j] + 1))) for j in range(len(segments))))
        who = came.until(now) - n * had >= n
        stages = [min(int(b) + 1, segment.span) for b, segment in zip(had, segments, strict=True)]
        tokens = sum(
            segment.tokens(s)
            for segment, s, runs in zip(segments, stages, who, strict=True)
            if runs
        )
        had += who
        now += system.clock.duration(tokens, 0)
        ends.append(now)
        joined.append(who)
        queues.append(came.until(now) - n * had)
    return np.array(ends), np.array(joined), np.array(queues)
