"""Least squares through ticks of which some hide time, but none hides less than none.

The line starts low, with a third of the ticks below it. Ticks far above it are left out and least
squares draw it again through the others, until none is. On 16 simulated logs, where the clock is
known, this takes the error of d1 from 5 to 21 % down to 3 % (docs/clock.md).

Columns everywhere are n, n K and P, as in `clock_fit`; shape (tick, 3).
"""

from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from fluidkv.errors import InputError

Half = Literal["first", "second"]
"""Which half of a run, by time, a clock is fitted to."""

NAMES = ("base", "per_kv_token", "per_prefill_token")
"""Of the coefficients d0, d1 and d2."""

# A column that lies this close to the others, relative to its length, has no direction of its own:
# about the square root of the rounding of a double.
_PARALLEL = 1e-8
# Standard errors away from 0, in a fit without bounds, that d0 and d1 need to be told apart: the
# customary 95 %. A log whose cache is always full shows d0 + d1 K and neither by itself.
_TOLD_APART = 2.0
# Robust standard deviations above the median that make a tick slow: among normal residuals 1 in 40
# lies beyond, which moves no coefficient by more than its standard error.
_SLOW = 2.0
_LOW = 1 / 3  # of the ticks below the first line
_ROUNDS = 20


def in_half(
    ends: Float[np.ndarray, " tick"], middle: float, half: Half | None
) -> Bool[np.ndarray, " tick"]:
    """Which ticks, by their ends, are in a half of the run; None: all.

    Raises:
        InputError: another half.
    """
    if half not in (None, "first", "second"):
        raise InputError("half", half, "'first', 'second' or None")
    first = ends <= middle
    return np.ones_like(first) if half is None else first if half == "first" else ~first


def draw(
    columns: Float[np.ndarray, "tick 3"], durations: Float[np.ndarray, " tick"], *, fewest: int
) -> tuple[Bool[np.ndarray, " 3"], Float[np.ndarray, " 3"], Bool[np.ndarray, " tick"]]:
    """The line.

    Args:
        fewest: never leave out so many that fewer are left.

    Returns:
        Which coefficients the ticks show, all three (0 for one that they do not), and which ticks
        were kept.
    """
    kept = np.ones(len(durations), dtype=bool)
    seen, values = kept[:0], low_line(columns, durations)
    for _ in range(_ROUNDS):
        now = ~slow_ticks(durations - columns @ values, kept)
        if now.sum() < fewest:
            now = kept
        seen, values = least_squares(columns[now], durations[now])
        if (now == kept).all():
            break
        kept = now
    return seen, values, kept


def least_squares(
    columns: np.ndarray, durations: np.ndarray
) -> tuple[Bool[np.ndarray, " 3"], Float[np.ndarray, " 3"]]:
    """Which coefficients the ticks show, and all three; 0 for one that they do not."""
    from scipy.optimize import nnls

    seen = _seen(columns, durations)
    values = np.zeros(3)
    values[seen] = nnls(columns[:, seen], durations)[0]
    return seen, values


def low_line(columns: np.ndarray, durations: np.ndarray) -> Float[np.ndarray, " 3"]:
    """The line with a given part of the ticks below: quantile regression, a linear program.

    A start that slow ticks cannot pull up, however slow they are.
    """
    from scipy.optimize import linprog

    seen = _seen(columns, durations)
    scale = np.linalg.norm(columns[:, seen], axis=0)
    ticks, count = len(durations), int(seen.sum())
    cost = np.concatenate((np.zeros(count), np.full(ticks, _LOW), np.full(ticks, 1 - _LOW)))
    above_and_below = np.hstack((columns[:, seen] / scale, np.eye(ticks), -np.eye(ticks)))
    found = linprog(cost, A_eq=above_and_below, b_eq=durations, bounds=(0, None))
    values = np.zeros(3)
    values[seen] = found.x[:count] / scale
    return values


def slow_ticks(left_over: np.ndarray, kept: np.ndarray) -> Bool[np.ndarray, " tick"]:
    """Ticks with far more time left over than those kept so far."""
    middle = np.median(left_over[kept])
    below = middle - left_over[kept & (left_over <= middle)]  # the side that hides nothing
    # 1.4826: from the median absolute deviation to a normal standard deviation. The last term is
    # far above the rounding of a double and far below any log's resolution.
    return left_over > middle + _SLOW * 1.4826 * np.median(below) + 1e-9


def _seen(columns: np.ndarray, durations: np.ndarray) -> Bool[np.ndarray, " 3"]:
    """Coefficients that the ticks show.

    Their columns have a direction of their own, and d0 and d1 are told apart.
    """
    seen = np.zeros(3, dtype=bool)
    for place in range(3):
        column = columns[:, place]
        size = float(np.linalg.norm(column))
        if size == 0:
            continue
        basis, _ = np.linalg.qr(columns[:, seen])
        rest = column - basis @ (basis.T @ column)
        seen[place] = bool(np.linalg.norm(rest) > _PARALLEL * size)
    if seen[1]:
        values, errors = unbounded(columns[:, seen], durations)
        seen[1] = bool((values[:2] >= _TOLD_APART * errors[:2]).all())
    return seen


def unbounded(columns: np.ndarray, durations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of ordinary least squares and their standard errors."""
    scale = np.linalg.norm(columns, axis=0)  # the columns differ by powers of ten
    scaled = columns / scale
    inverse = np.linalg.inv(scaled.T @ scaled)
    values = inverse @ (scaled.T @ durations)
    left = durations - scaled @ values
    variance = float(left @ left) / (len(durations) - columns.shape[1])
    return values / scale, np.sqrt(variance * np.diag(inverse)) / scale
