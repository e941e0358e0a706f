"""Thresholds of Nested WAIT: n_k prompts at every stage of segment k.

A batch with all segments in it lasts Delta T(n) = d0 + d1 sum of n_k S_k. It carries the load
where fewer prompts come to each segment, on average, than a batch takes in:

    n_1 > r_1 Delta T(n),    n_k > p_k n_(k-1) for k >= 2,    sum of n_k S_k <= M if M is given.

A segment that holds several output lengths counts n_k prompts at all of its stages, though some
finish before its end. So the load of the segments, d1 sum of r_k S_k, is at least that of the
system, with equality where every output length ends a segment; it must be below 1.

Source: WAIT, sections 5.2 and 7.2 (equations 12, 13, 16).
"""

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from fluidkv.errors import InputError
from fluidkv.wait.model import Exact, count, exact
from fluidkv.wait.segments import Segments

_MOST_WORK = 5_000_000
"""Steps times segments after which the least thresholds are given up: some six seconds."""

_BITS = 40  # of fractions of a prompt; to round them down costs a few more steps, nothing else


class Constraint(StrEnum):
    """The lines of (12) and (16); the values are the words for a user."""

    ARRIVALS = "n_1 > r_1 Delta T"
    THINNING = "n_k > p_k n_(k-1)"
    MEMORY = "sum n S <= M"


@dataclass(frozen=True)
class Broken:
    """A constraint that thresholds break.

    Fields:
        constraint: which one.
        segment: k, from 1; None for memory, which all share.
        short: how much is missing, at least 0: to reach r_1 Delta T or p_k n_(k-1), which n must
            exceed, or tokens of capacity.
    """

    constraint: Constraint
    segment: int | None
    short: Fraction


@dataclass(frozen=True)
class NestedThresholds:
    """The least whole thresholds that satisfy (12), and what follows from them; exact.

    Fields:
        thresholds: n_k.
        iteration_time: Delta T(n).
        memory: M^pi = sum of n_k S_k, tokens.
        slack: n_1 - r_1 Delta T, then n_k - p_k n_(k-1): all above 0.
    """

    thresholds: tuple[int, ...]
    iteration_time: Fraction
    memory: Fraction
    slack: tuple[Fraction, ...]


def segment_load(segments: Segments, per_kv_token: Exact) -> Fraction:
    """d1 sum of r_k S_k: the load that the thresholds must carry; below 1 or there are none.

    (12) asks n_k >= n_1 r_k / r_1, so n_1 > r_1 d0 + n_1 times this.
    """
    d1 = exact("per_kv_token", per_kv_token, least=0)
    return d1 * sum(map(operator.mul, segments.rates, segments.costs))


def nested_time(
    segments: Segments, thresholds: Iterable[Exact], base: Exact, per_kv_token: Exact
) -> Fraction:
    """Delta T(n) = d0 + d1 sum of n_k S_k: a batch with all segments in it.

    Args:
        segments: where they end, and the rates.
        thresholds: n_k, above 0, one a segment; exact, whole or not.
        base: d0, time, above 0; exact.
        per_kv_token: d1, time a token, at least 0; exact.

    Raises:
        InputError: a number out of range.
    """
    d0, d1 = _clock(base, per_kv_token)
    return d0 + d1 * peak_memory(segments, thresholds)


def peak_memory(segments: Segments, thresholds: Iterable[Exact]) -> Fraction:
    """M^pi = sum of n_k S_k: tokens held by a batch with all segments in it (13).

    Args, raises: as `nested_time`.
    """
    n = vector(segments, thresholds)
    return sum(map(operator.mul, n, segments.costs), Fraction(0))


def check_nested(
    segments: Segments,
    thresholds: Iterable[Exact],
    base: Exact,
    per_kv_token: Exact,
    capacity: Exact | None = None,
) -> tuple[Broken, ...]:
    """Every constraint of (12) that the thresholds break; empty if they satisfy it.

    Args:
        segments, thresholds, base, per_kv_token: as `nested_time`.
        capacity: M, tokens, above 0; None: not asked.

    Raises:
        InputError: a number out of range.
    """
    n = vector(segments, thresholds)
    room = None if capacity is None else exact("capacity", capacity, above=0)
    slack = [n[0] - segments.rates[0] * nested_time(segments, n, base, per_kv_token)]
    broken = [Broken(Constraint.ARRIVALS, 1, -slack[0])] if slack[0] <= 0 else []
    broken.extend(_thinning(segments, n))
    if room is not None and peak_memory(segments, n) > room:
        broken.append(Broken(Constraint.MEMORY, None, peak_memory(segments, n) - room))
    return tuple(broken)


def require_thinning(segments: Segments, thresholds: Iterable[Exact]) -> tuple[Fraction, ...]:
    """The thresholds, if every boundary queue has negative drift.

    Raises:
        InputError: the first boundary that has not, and by how much.
    """
    n = vector(segments, thresholds)
    broken = _thinning(segments, n)
    if broken:
        k, short = broken[0].segment or 0, broken[0].short
        raise InputError(
            "thresholds",
            _plain(n),
            f"{Constraint.THINNING}: in segment {k}, more than {_shown(n[k - 1] + short)}",
        )
    return n


def require_nested(
    segments: Segments, thresholds: Iterable[Exact], base: Exact, per_kv_token: Exact
) -> tuple[Fraction, ...]:
    """The thresholds, if they satisfy (12).

    Raises:
        InputError: the first constraint that breaks, in which segment, and by how much.
    """
    n = vector(segments, thresholds)
    broken = check_nested(segments, n, base, per_kv_token)
    if broken and broken[0].constraint is Constraint.ARRIVALS:
        # A larger n_1 makes the batch longer as well, and the next segments too.
        short = _shown(broken[0].short)
        raise InputError(
            "thresholds",
            _plain(n),
            f"{Constraint.ARRIVALS}: arrivals in a full batch are {_shown(n[0] + broken[0].short)},"
            f" {short} above n_1 (or as many)",
        )
    return require_thinning(segments, n)


def integer_nested_thresholds(
    segments: Segments, base: Exact, per_kv_token: Exact, *, extra: Iterable[int] | None = None
) -> NestedThresholds:
    """The least whole thresholds that satisfy (12): no other whole ones are lower anywhere.

    Args:
        segments: where they end, and the rates.
        base: d0, time, above 0; exact.
        per_kv_token: d1, time a token, at least 0; exact.
        extra: e_k, whole numbers of at least 0, one a segment, that each line keeps to spare:
            n_1 > r_1 Delta T + e_1 and n_k > p_k n_(k-1) + e_k. None: 0.

    Raises:
        InputError: a load of the segments of 1 or more, for which there are none, or a load so
            near 1 that the least ones were not found.

    All right-hand sides rise with n, so two solutions have their lower envelope as another, and
    there is a least one below which nothing is feasible.
    """
    d0, d1 = _clock(base, per_kv_token)
    spare = [0] * len(segments) if extra is None else [count("extra", e, least=0) for e in extra]
    if len(spare) != len(segments):
        raise InputError("extra", f"{len(spare)} of them", f"{len(segments)}, one a segment")
    _require_load(segments, d1)
    clock = WholeClock.of(segments.rates, d0, d1)
    rates = [int(rate * clock.unit) for rate in segments.rates]
    n = least_whole(rates, [int(2 * cost) for cost in segments.costs], clock, spare)
    if n is None:
        raise InputError(
            "rates",
            f"{float(segments.rates[0]):.6g} prompts per unit of time",
            f"less, for the least whole thresholds: not found at a load of 1 - "
            f"{float(1 - segment_load(segments, d1)):.3g} with {len(segments)} segments",
        )
    time = nested_time(segments, n, d0, d1)
    slack = (n[0] - segments.rates[0] * time, *_thinning_slack(segments, n))
    return NestedThresholds(n, time, peak_memory(segments, n), slack)


def vector(segments: Segments, thresholds: Iterable[Exact]) -> tuple[Fraction, ...]:
    """One number above 0 for each segment.

    Raises:
        InputError: a number that is not, or too many or few.
    """
    n = tuple(exact("thresholds", each, above=0) for each in thresholds)
    if len(n) != len(segments):
        raise InputError("thresholds", f"{len(n)} of them", f"{len(segments)}, one a segment")
    return n


@dataclass(frozen=True)
class WholeClock:
    """Rates and a clock in whole numbers, over common denominators: what makes a sweep fast.

    Fields:
        unit: rates are multiples of `1 / unit`.
        grid: d0 and d1 / 2, and so Delta T, are multiples of `1 / grid`.
        base, step: d0 and d1 / 2 in them.
    """

    unit: int
    grid: int
    base: int
    step: int

    @classmethod
    def of(cls, rates: Iterable[Fraction], d0: Fraction, d1: Fraction) -> "WholeClock":
        grid = math.lcm(d0.denominator, (d1 / 2).denominator)
        unit = math.lcm(*(rate.denominator for rate in rates))
        return cls(unit, grid, int(d0 * grid), int(d1 / 2 * grid))


def least_whole(
    rates: Sequence[int], costs: Sequence[int], clock: WholeClock, extra: Sequence[int]
) -> tuple[int, ...] | None:
    """`integer_nested_thresholds` in whole numbers; None: not found in the steps allowed.

    Args:
        rates: r_k times `clock.unit`.
        costs: 2 S_k.
        clock: denominators, d0 and d1; the load of the segments is below 1.
        extra: what each line keeps to spare.

    Times that stay below that of the least thresholds climb to it. Let n be the least ones,
    T = Delta T(n) and t <= T. Then m_1 = floor(r_1 t) + 1 + e_1 and m_k = floor(p_k m_(k-1)) + 1 +
    e_k are at most n, so u = Delta T(m) <= T. If r_1 u + e_1 < m_1, then m is a solution and m = n.
    Otherwise u is a next t that raises m_1, and there is a better one. Whole numbers above
    (a / b) n are 1 / b above it at least, so n_k >= r_k T + o_k with o_1 = e_1 and
    o_k = p_k o_(k-1) + e_k + 1 / b_k, where b_k is the denominator of p_k. For any set A of
    segments, that in A and n_k >= m_k elsewhere give

        T >= (d0 + d1 (sum of m_k S_k, not in A) + d1 (sum of o_k S_k, in A))
             / (1 - d1 sum of r_k S_k, in A).

    A are those where r_k u + o_k is the larger. T is a multiple of `1 / grid`.
    """
    whole, load = clock.unit * clock.grid, sum(map(operator.mul, rates, costs))
    offsets = _offsets(rates, extra)
    time = -(-clock.base * whole // (whole - clock.step * load))  # d0 / (1 - load), rounded up
    for _ in range(max(1, _MOST_WORK // len(rates))):
        m = [rates[0] * time // whole + 1 + extra[0]]
        for k in range(1, len(rates)):
            m.append(rates[k] * m[-1] // rates[k - 1] + 1 + extra[k])
        longer = clock.base + clock.step * sum(map(operator.mul, m, costs))
        if rates[0] * longer < (m[0] - extra[0]) * whole:
            return tuple(m)
        moving = fixed = offset = 0
        for rate, cost, n, above in zip(rates, costs, m, offsets, strict=True):
            if (rate * longer << _BITS) >= ((n << _BITS) - above) * whole:
                moving += rate * cost
                offset += above * cost
            else:
                fixed += n * cost
        rest = clock.base + clock.step * (fixed + (offset >> _BITS))
        time = max(longer, -(-rest * whole // (whole - clock.step * moving)))
    return None


def _offsets(rates: Sequence[int], extra: Sequence[int]) -> list[int]:
    """o_k times 2^_BITS, rounded down, so that denominators do not grow."""
    offsets = [extra[0] << _BITS]
    for before, rate, e in zip(rates, rates[1:], extra[1:], strict=False):
        step = (1 << _BITS) // (before // math.gcd(before, rate))
        offsets.append(offsets[-1] * rate // before + (e << _BITS) + step)
    return offsets


def _require_load(segments: Segments, d1: Fraction) -> None:
    load = segment_load(segments, d1)
    if load >= 1:
        rate = segments.rates[0]
        raise InputError(
            "rates",
            f"{float(rate):.6g} prompts per unit of time",
            f"below {float(rate / load):.6g} with these segments and d1: their load "
            f"d1 sum(r S) is {float(load):.6g} and must be below 1",
        )


def _thinning_slack(segments: Segments, n: tuple[Exact, ...]) -> tuple[Fraction, ...]:
    return tuple(
        after - p * before
        for p, before, after in zip(segments.thinning, n[:-1], n[1:], strict=True)
    )


def _thinning(segments: Segments, n: tuple[Fraction, ...]) -> list[Broken]:
    return [
        Broken(Constraint.THINNING, k, -slack)
        for k, slack in enumerate(_thinning_slack(segments, n), start=2)
        if slack <= 0
    ]


def _clock(base: Exact, per_kv_token: Exact) -> tuple[Fraction, Fraction]:
    return exact("base", base, above=0), exact("per_kv_token", per_kv_token, least=0)


def _plain(n: Iterable[Fraction]) -> list[int | str]:
    return [each.numerator if each.denominator == 1 else str(each) for each in n]


def _shown(value: Fraction) -> str:
    """Whole numbers in full, others to six digits."""
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.6g}"
