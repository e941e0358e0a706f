"""The embedded chains of the paper's proofs, with what is said to dominate them, on the same draws.

Paths are given, not judged: whether one lies above the other is for a check to look at.

Source: WAIT, appendices B to E (Lemmas 1 to 3, 6, 7 and 9). The displayed formulas are lost in our
copy of the paper; they are given back here from the proofs.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from scipy import stats

from fluidkv.errors import InputError
from fluidkv.wait.chain.model import Shape, shapes, thresholds_of
from fluidkv.wait.model import WaitSystem, count, several
from fluidkv.wait.theory.lindley import lindley_path, queue_path

MOST = 2**63 - 1
"""Of counts and seeds: 64 bits."""


@dataclass(frozen=True)
class CoupledPaths:
    """A queue before a threshold, and the process said to dominate it, after each batch.

    Fields:
        queue: W, from an empty one: W' = W + X - n 1[W >= n].
        stuck: whether the batch found W < n and served nobody.
        dominating: W~, from `floor`: W~' = max(floor, W~ + X - n).
    """

    queue: Int[np.ndarray, "run batch"]
    stuck: Bool[np.ndarray, "run batch"]
    dominating: Int[np.ndarray, "run batch"]


def coupled_paths(threshold: int, arrivals: ArrayLike, *, floor: int | None = None) -> CoupledPaths:
    """Real and dominating paths on the same arrivals; see `lindley`.

    Args:
        threshold: n.
        arrivals: X of each batch, (run, batch): `poisson_arrivals` for Lemmas 1 to 3,
            `binomial_arrivals` for Lemmas 7 and 9, or any whole numbers.
        floor: where W~ starts and is held up; None: n, as the proofs have it.

    Raises:
        InputError: arrivals that are not whole numbers of at least 0, or whose sums could pass
            2^63 - 1.

    Source: WAIT, Lemmas 1, 2, 7 and 9.
    """
    x, n = _whole(arrivals), count("threshold", threshold)
    path = queue_path(x, n)
    low = n if floor is None else count("floor", floor, least=0)
    if max(int(x.max()), n) * x.shape[-1] + low > MOST:
        raise InputError("arrivals", int(x.max()), f"sums of batches of at most {MOST}")
    above = low + lindley_path(x - n)
    return CoupledPaths(path.queue, path.stuck, above)


def poisson_arrivals(
    mean: float, *, runs: int, batches: int, seed: int = 0
) -> Int[np.ndarray, "run batch"]:
    """X ~ Poisson(mean) for each batch: arrivals in Delta T."""
    if not isinstance(mean, Real) or isinstance(mean, bool) or not 0 <= mean <= 2**62:
        raise InputError("mean", mean, "a number from 0 to 2^62")
    return _random(seed).poisson(float(mean), _shape(runs, batches))


def binomial_arrivals(
    size: int, share: ArrayLike, *, runs: int, batches: int, seed: int = 0
) -> Int[np.ndarray, "run batch"]:
    """X ~ Binomial(size, share) for each batch: who goes on from the segment before.

    Args:
        size: n of the segment before.
        share: p, one for all batches or one for each. With the same seed a larger share never has
            fewer arrivals, batch by batch: both are quantiles at the same uniform numbers.
    """
    size, shape = count("size", size), _shape(runs, batches)
    allowed = f"numbers from 0 to 1, one or {batches}, one a batch"
    try:
        shares = np.broadcast_to(np.asarray(share, np.float64), shape[1:])
    except (TypeError, ValueError):
        raise InputError("share", share, allowed) from None
    if not ((shares >= 0) & (shares <= 1)).all():
        raise InputError("share", share, allowed)
    u = _random(seed).random(shape)
    out = np.empty(shape, np.int64)
    for p in np.unique(shares):
        below = stats.binom.cdf(np.arange(size), size, p)  # the last outcome takes the rest
        where = shares == p
        out[:, where] = np.searchsorted(below, u[:, where], side="left")
    return out


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
    thresholds: Iterable[int],
    *,
    runs: int,
    batches: int,
    seed: int = 0,
    floor: Iterable[int] | None = None,
) -> TypePaths:
    """Runs of WAIT from the empty system, literally, and Lemma 6's processes beside them.

    Args:
        thresholds: n, one a type.
        floor: where each W~ starts and is held up; None: n.

    Raises:
        InputError: thresholds or floors that are not one a type.

    Source: WAIT, Lemma 6 and appendix E.3.
    """
    levels, seed = thresholds_of(system, thresholds), count("seed", seed, least=0, most=MOST)
    allowed = f"{len(levels)}, one a type"
    given = levels if floor is None else several("floor", floor, allowed)
    lows = tuple(count("floor", low, least=0) for low in given)
    if len(lows) != len(levels):
        raise InputError("floor", list(lows), allowed)
    batches = count("batches", batches)
    segments = shapes(system, levels)
    full_time = system.clock.duration(sum(segment.tokens(segment.span) for segment in segments), 0)
    n, low = np.array(levels), np.array(lows)
    ends, joined, queues, above, then = [], [], [], [], []
    for run in range(count("runs", runs)):
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


def _whole(arrivals: ArrayLike) -> np.ndarray:
    """As int64: differences of unsigned numbers would wrap."""
    x = np.asarray(arrivals)
    whole = x.ndim > 0 and x.size > 0 and np.issubdtype(x.dtype, np.integer)
    if not whole or (x < 0).any() or int(x.max()) > MOST:
        raise InputError(
            "arrivals", arrivals, f"whole numbers from 0 to {MOST}, at least one batch"
        )
    return x.astype(np.int64)


def _shape(runs: int, batches: int) -> tuple[int, int]:
    return count("runs", runs), count("batches", batches)


def _random(seed: int) -> np.random.Generator:
    return np.random.default_rng(count("seed", seed, least=0, most=MOST))


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
