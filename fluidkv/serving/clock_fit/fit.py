"""The clock of an engine, fitted to a log of it by least squares.

A tick of Delta seconds, with n iterations at K tokens in the cache and P tokens of prefill, is
accounted for by

    Delta = n d0 + n K d1 + P d2

All three coefficients are at least 0. What a clock leaves over is counted in seconds of each tick,
so that ticks weigh alike however many iterations they hold.

Ticks may hide recomputation even where none can be seen: a request that comes back and another that
is preempted cancel. That only ever adds time, so ticks far above the line are left out
(`clock_line`).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.clock_fit.line import NAMES, Half, draw, in_half, least_squares, unbounded
from fluidkv.serving.clock_fit.points import IDLE, TickPoints

_FEWEST = 4  # points: one more than there are coefficients
_ENOUGH = 20  # points without recomputation, where a log counts what would account for it

SLOW = "far slower than the others: recomputation that cancels within the tick"


@dataclass(frozen=True, eq=False)
class ClockResiduals(Record):
    """A clock against the ticks of a log; shapes (point,).

    Fields:
        tick_ends_s: which ticks.
        measured_s: duration of an iteration, Delta / n.
        predicted_s: the same by the clock.
        unaccounted_s: Delta - n d0 - n K d1 - P d2, seconds of the tick.
        rms: root mean square of `unaccounted_s` as a part of the tick.
        mean: mean of the same; above 0, the engine is slower than the clock says.
        r2: share of the variance of `measured_s` that the clock explains; None if it has none.
    """

    tick_ends_s: Float[np.ndarray, " point"]
    measured_s: Float[np.ndarray, " point"]
    predicted_s: Float[np.ndarray, " point"]
    unaccounted_s: Float[np.ndarray, " point"]
    rms: float
    mean: float
    r2: float | None

    def __len__(self) -> int:
        return self.tick_ends_s.size


@dataclass(frozen=True, eq=False)
class ClockFit(Record):
    """A fitted clock and how well it is known.

    Fields:
        clock: in seconds.
        standard_error: of base, per_kv_token and per_prefill_token, as if residuals were
            independent (what ticks hide is not, so they are the least that it can be); None for one
            that is 0 because it may not be negative, or that the window does not show.
        unseen: coefficients that the window cannot tell from the others, or has no tokens for; they
            are 0 in `clock`, and what they would carry is in the others. Without per_kv_token the
            clock is one for a cache as full as in the window.
        residuals: on the ticks that were used.
        kv_tokens: least and most in these ticks. Outside, the clock extrapolates.
        dropped: ticks of the window that were not used, by reason; SLOW among them.
        reckons: whether what preempted requests computed again is reckoned (`TickPoints.again`), as
            too few ticks are free of it.

    Examples:
        >>> from fluidkv.serving.clock_fit.points import tick_points
        >>> run = fk.read_log("sample:vllm-rtx4090").timed()
        >>> fit = fk.fit_clock(tick_points(**run.clock_arrays()))
        >>> round(fit.clock.base, 4), fit.unseen, len(fit.residuals)
        (0.0149, (), 87)
        >>> sum(ticks for reason, ticks in fit.dropped)
        97
    """

    clock: IterationClock
    standard_error: tuple[float | None, float | None, float | None]
    unseen: tuple[str, ...]
    residuals: ClockResiduals
    kv_tokens: tuple[float, float]
    dropped: tuple[tuple[str, int], ...]
    reckons: bool = False


@dataclass(frozen=True)
class Recompute(Record):
    """What preempted requests computed again, read off the time that a clock leaves over.

    Fields:
        seconds: unaccounted for, in all ticks with iterations.
        tokens: as many of prefill take so long. With the clock of a whole run, most of what was
            computed again (docs/clock.md); to see what a prefix cache did, compare it with the same
            number of a simulated log of these requests without one.
        resumed: requests that came back at least: rises and falls within a tick cancel.
        context: tokens that a running request holds, mean. A preempted one holds fewer, as it is
            the last that came.

    Examples:
        >>> from fluidkv.serving.clock_fit.fit import hidden_recompute
        >>> from fluidkv.serving.clock_fit.points import tick_points
        >>> run = fk.read_log("sample:vllm-rtx4090").timed()
        >>> points = tick_points(**run.clock_arrays())
        >>> again = hidden_recompute(fk.fit_clock(points).clock, points)
        >>> again.resumed, round(again.share, 2)
        (99.0, 0.69)
    """

    seconds: float
    tokens: float
    resumed: float
    context: float

    @property
    def share(self) -> float:
        """`tokens` for each request seen to come back, over `context`.

        Not the part of their tokens that was computed again: more came back than were seen, with
        fewer tokens. It is above 1 in simulated logs of a server that computes all again.
        """
        return self.tokens / (self.resumed * self.context)


def fit_clock(points: TickPoints, *, half: Half | None = None) -> ClockFit:
    """Least squares with coefficients of at least 0, on the ticks that can be used and not slow.

    Args:
        points: from `tick_points`.
        half: of the run, by time; None for all of it.

    Raises:
        InputError: fewer than 4 usable ticks in the window.

    Examples:
        >>> from fluidkv.serving.clock_fit.points import tick_points
        >>> run = fk.read_log("sample:vllm-rtx4090").timed()
        >>> fit = fk.fit_clock(tick_points(**run.clock_arrays()))
        >>> round(fit.clock.base, 4), round(fit.clock.per_prefill_token * 1e6, 1)
        (0.0149, 86.8)
        >>> round(fit.residuals.r2, 2)
        0.99
    """
    inside = in_half(points.tick_ends_s, points.middle_s, half)
    reckons = points.again is not None and int((inside & points.used).sum()) < _ENOUGH
    if reckons:
        points = points.with_again()
    used = inside & points.used
    dropped = _reasons(points, inside)
    if used.sum() < _FEWEST:
        why = "; ".join(f"{count} dropped: {reason}" for reason, count in dropped)
        found = f"{int(used.sum())} of {int(inside.sum())} ticks"
        raise InputError("points", found, f"{_FEWEST} usable ticks or more ({why or 'no ticks'})")
    columns, durations = _columns(points), points.duration_s
    if reckons:  # no tick hides time
        seen, values = least_squares(columns[used], durations[used])
        kept = np.ones(int(used.sum()), dtype=bool)
    else:
        seen, values, kept = draw(columns[used], durations[used], fewest=_FEWEST)
    if not kept.all():
        dropped = (*dropped, (SLOW, int((~kept).sum())))
    used[used] = kept
    if values[0] == 0:  # prefill by itself accounts for all of the time
        allowed = "some with iterations that take time without prefill"
        raise InputError("points", f"{int(used.sum())} ticks", allowed)
    clock = IterationClock(*(float(value) for value in values), unit="s")
    kv = points.kv_tokens[used]
    return ClockFit(
        clock=clock,
        standard_error=_standard_error(columns[used], durations[used], values),
        unseen=tuple(name for name, there in zip(NAMES, seen, strict=True) if not there),
        residuals=_residuals(clock, points, used),
        kv_tokens=(float(kv.min()), float(kv.max())),
        dropped=dropped,
        reckons=reckons,
    )


def clock_residuals(
    clock: IterationClock, points: TickPoints, *, half: Half | None = None
) -> ClockResiduals:
    """A clock, fitted elsewhere, against the usable ticks.

    Raises:
        InputError: a clock that is not in seconds, or a window without a usable tick.
    """
    _seconds(clock)
    used = in_half(points.tick_ends_s, points.middle_s, half) & points.used
    if not used.any():
        raise InputError("points", "no usable tick", "one or more in the window")
    return _residuals(clock, points, used)


def hidden_recompute(clock: IterationClock, points: TickPoints) -> Recompute | None:
    """How much preempted requests computed again, which no column of a log says.

    None where no request came back.

    Raises:
        InputError: a clock that is not in seconds, or without a cost of prefill.

    Examples:
        >>> from fluidkv.serving.clock_fit.fit import hidden_recompute
        >>> from fluidkv.serving.clock_fit.points import tick_points
        >>> run = fk.read_log("sample:vllm-rtx4090").timed()
        >>> points = tick_points(**run.clock_arrays())
        >>> again = hidden_recompute(fk.IterationClock(0.0149, 2.6e-7, 8.7e-5), points)
        >>> round(again.seconds, 1)
        7.4
    """
    _seconds(clock)
    if clock.per_prefill_token == 0:
        raise InputError("per_prefill_token", 0.0, "above 0, to turn seconds into tokens")
    chosen = np.isfinite(points.iterations)
    chosen[[reason == IDLE for reason in points.dropped]] = False
    back = chosen & (points.resumed > 0)
    if not back.any():
        return None
    seconds = float(_residuals(clock, points, chosen).unaccounted_s.sum())
    return Recompute(
        seconds=seconds,
        tokens=seconds / clock.per_prefill_token,
        resumed=float(points.resumed[back].sum()),
        context=float(np.average(points.context[back], weights=points.resumed[back])),
    )


def _reasons(points: TickPoints, inside: np.ndarray) -> tuple[tuple[str, int], ...]:
    found = [r for r, there in zip(points.dropped, inside, strict=True) if there and r]
    return tuple((r, n) for r, _ in points.dropped_because if (n := found.count(r)))


def _columns(points: TickPoints) -> Float[np.ndarray, "tick 3"]:
    n = points.iterations
    return np.column_stack((n, n * points.kv_tokens, points.prefill_tokens))


def _standard_error(
    columns: np.ndarray, durations: np.ndarray, values: np.ndarray
) -> tuple[float | None, float | None, float | None]:
    """Those of least squares without bounds on the coefficients that are not 0."""
    free = values > 0
    found = iter(unbounded(columns[:, free], durations)[1].tolist())
    base, kv, prefill = (next(found) if there else None for there in free)
    return base, kv, prefill


def _residuals(clock: IterationClock, points: TickPoints, used: np.ndarray) -> ClockResiduals:
    values = np.array([clock.base, clock.per_kv_token, clock.per_prefill_token])
    durations, iterations = points.duration_s[used], points.iterations[used]
    accounted = _columns(points)[used] @ values
    measured = durations / iterations
    predicted = accounted / iterations
    part = (durations - accounted) / durations
    spread = float(((measured - measured.mean()) ** 2).sum())
    return ClockResiduals(
        tick_ends_s=points.tick_ends_s[used],
        measured_s=measured,
        predicted_s=predicted,
        unaccounted_s=durations - accounted,
        rms=float(np.sqrt((part**2).mean())),
        mean=float(part.mean()),
        r2=1 - float(((measured - predicted) ** 2).sum()) / spread if spread else None,
    )


def _seconds(clock: IterationClock) -> None:
    if clock.unit != "s":
        raise InputError("clock", clock.unit, "a clock in seconds")
