"""Queues that are served a batch at a time, as recorded paths, and bounds on their means.

Three chains, from arrivals X_1, X_2, ... and a batch of n:

    queue       W' = W + X - n if W >= n, else W + X (a stuck iteration)      W_0 = 0
    Lindley     Q' = max(Q + X - n, 0)                                        Q_0 = 0
    shifted     c + Q: what the paper sets above the queue

W <= 2 n - 1 + Q on every path, and no smaller constant does: a queue of n - 1 is stuck, takes
X = n and holds 2 n - 1, while Q stays at 0. With c = n, the form in which the paper's Lemmas 2 and
7 are given back, W <= n + Q fails for every n >= 2. What waits outside of the batch, W - n if
W >= n and else W, stays at or below n - 1 + Q; the memory of Theorem 2 needs that alone.

Source: WAIT, appendix B (Lemmas 1 to 5) and C.2 (Lemma 7).
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.wait.model import Exact, count, exact, plain

Path = npt.NDArray[np.int64]
"""Whole numbers along the last axis, one a batch; axes before it are separate runs."""

_MOST = 2**62  # below it a queue, one more batch included, is an int64


@dataclass(frozen=True)
class QueuePath(Record):
    """What a queue did with recorded arrivals; shapes are those of the arrivals.

    Fields:
        queue: W after each batch.
        stuck: whether each batch found fewer than n.
        outside: of W, those that the next batch leaves behind: W - n if W >= n, else W.
    """

    queue: Path
    stuck: npt.NDArray[np.bool_]
    outside: Path


def queue_path(arrivals: npt.ArrayLike, n: int) -> QueuePath:
    """The queue of a segment, batch by batch, from an empty start.

    Args:
        arrivals: X, whole numbers of at least 0, shape (..., batches); those of a run make less
            than 2^62 together.
        n: prompts that a batch takes, less than 2^62.

    Raises:
        InputError: arrivals that are not whole, below 0 or too many, or n out of range.

    Examples:
        >>> from fluidkv.wait.theory.lindley import queue_path
        >>> path = queue_path([3, 3, 3, 3], n=4)
        >>> path.queue.tolist(), path.stuck.tolist()
        ([3, 6, 5, 4], [True, True, False, False])
    """
    x, n = _arrivals(arrivals), count("n", n)
    if n >= _MOST:
        raise InputError("n", n, "less than 2^62")
    queue, stuck = np.empty_like(x), np.empty(x.shape, dtype=bool)
    held = np.zeros(x.shape[:-1], dtype=np.int64)
    for batch in range(x.shape[-1]):
        stuck[..., batch] = held < n
        held = held + x[..., batch] - np.where(held < n, 0, n)
        queue[..., batch] = held
    return QueuePath(queue, stuck, np.where(queue >= n, queue - n, queue))


def lindley_path(increments: npt.ArrayLike) -> npt.NDArray:
    """Q after each step, Q' = max(Q + increment, 0) from 0, along the last axis.

    Q_b is the largest of S_b - S_i over i <= b, where S are the partial sums and S_0 = 0.

    Args:
        increments: X - n, or any numbers, shape (..., steps).

    Examples:
        >>> from fluidkv.wait.theory.lindley import lindley_path
        >>> lindley_path([2, -1, -3, 1]).tolist()
        [2, 1, 0, 1]
    """
    sums = np.cumsum(np.asarray(increments), axis=-1)
    return sums - np.minimum(np.minimum.accumulate(sums, axis=-1), 0)


def max_partial_sums(increments: npt.ArrayLike) -> npt.NDArray:
    """max(0, S_1, ..., S_b) for each b: over independent steps, as likely as Q_b (Lemma 3).

    Examples:
        >>> from fluidkv.wait.theory.lindley import max_partial_sums
        >>> max_partial_sums([2, -1, -3, 1]).tolist()
        [2, 2, 2, 2]
    """
    sums = np.cumsum(np.asarray(increments), axis=-1)
    return np.maximum(np.maximum.accumulate(sums, axis=-1), 0)


def stuck_identity(arrivals: npt.ArrayLike, n: int) -> tuple[Path, Path]:
    """Both sides of Lemma 1 on each path: W_N, and sum X - n (N - stuck).

    They are equal on every path, so their means are: E[W_N] = N E[X] - n (N - E[stuck]).

    Args, raises: as `queue_path`.

    Examples:
        >>> from fluidkv.wait.theory.lindley import stuck_identity
        >>> left, right = stuck_identity([3, 3, 3, 3], n=4)
        >>> int(left), int(right)  # 12 came, 2 of 4 batches took 4 each
        (4, 4)
    """
    path = queue_path(arrivals, n)
    x = _arrivals(arrivals)
    served = x.shape[-1] - path.stuck.sum(axis=-1)
    return path.queue[..., -1], x.sum(axis=-1) - n * served


def kingman(mean: Exact, variance: Exact) -> Fraction:
    """Kingman's bound on the mean of the Lindley chain, at every step: variance / (2 |mean|).

    Args:
        mean: of an increment, below 0; exact.
        variance: of an increment, at least 0; exact.

    Raises:
        InputError: a mean that is not negative.

    From 0 the chain grows in distribution toward its stationary law, so a bound on that is one at
    every step.

    Examples:
        >>> from fluidkv.wait.theory.lindley import kingman
        >>> kingman(mean=-1, variance=3)
        Fraction(3, 2)
    """
    mean, variance = exact("mean", mean), exact("variance", variance, least=0)
    if mean >= 0:
        raise InputError("mean", str(plain(mean)), "a negative drift; at 0 or above no bound holds")
    return variance / (-2 * mean)


def mean_queue_bound(n: int, mean: Exact, variance: Exact) -> Fraction:
    """E[W] of the queue at every batch: 2 n - 1 + variance / (2 |mean - n|).

    The paper's n + variance / (2 |mean - n|), as given back, is exceeded: with n = 4 and X = 3
    always, W goes round 3, 6, 5, 4, whose mean is 4.5.

    Args:
        n: prompts that a batch takes.
        mean: of the arrivals X of one batch, at least 0 and below n; exact.
        variance: likewise, at least 0; exact.

    Raises:
        InputError: a number out of range.

    Examples:
        >>> from fluidkv.wait.theory.lindley import mean_queue_bound
        >>> mean_queue_bound(n=4, mean=3, variance=3)  # 2 * 4 - 1 + 3 / 2
        Fraction(17, 2)
    """
    n, mean = _service(n, mean)
    return 2 * n - 1 + kingman(mean - n, variance)


def _service(n: int, mean: Exact) -> tuple[int, Fraction]:
    n, mean = count("n", n), exact("mean", mean, least=0)
    if mean >= n:
        raise InputError("mean", str(plain(mean)), f"less than n = {plain(n)}, which a batch takes")
    return n, mean


def _arrivals(arrivals: npt.ArrayLike) -> Path:
    x = np.asarray(arrivals)
    if x.ndim == 0 or x.size == 0 or not np.issubdtype(x.dtype, np.integer) or (x < 0).any():
        raise InputError("arrivals", arrivals, "whole numbers of at least 0, at least one batch")
    if int(x.max()) * x.shape[-1] >= _MOST and max(map(sum, _runs(x))) >= _MOST:
        raise InputError("arrivals", arrivals, "less than 2^62 prompts in a run")
    return x.astype(np.int64)


def _runs(x: npt.NDArray) -> list[list[int]]:
    """Each run as Python's integers, which do not wrap."""
    return x.reshape(-1, x.shape[-1]).tolist()
