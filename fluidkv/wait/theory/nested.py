"""Thresholds of Nested WAIT: n_k prompts at every stage of segment k.

A batch with all segments in it lasts Delta T(n) = d0 + d1 sum of n_k S_k + d2 n_1 l, the last term
for the prompts at stage 0, which segment 1 takes in. It carries the load
where fewer prompts come to each segment, on average, than a batch takes in:

    n_1 > r_1 Delta T(n),    n_k > p_k n_(k-1) for k >= 2,    sum of n_k S_k <= M if M is given.

A segment that holds several output lengths counts n_k prompts at all of its stages, though some
finish before its end. So the load of the segments, d1 sum of r_k S_k + d2 r_1 l, is at least that
of the system, with equality where every output length ends a segment; it must be below 1.

Source: WAIT, sections 5.2 and 7.2 (equations 12, 13, 16), for d2 = 0.
"""

import itertools
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.wait.model import Exact, count, exact, plain, several, shown
from fluidkv.wait.segments import Segments, double_costs
from fluidkv.wait.theory.least_whole import WholeClock, least_of_segments


class Constraint(StrEnum):
    """The lines of (12) and (16); the values are the words for a user.

    Examples:
        >>> from fluidkv.wait import Segments
        >>> from fluidkv.wait.theory.nested import Constraint, check_nested
        >>> segments = Segments(3, ends=(1, 3), rates=(3, 1))
        >>> found = check_nested(segments, (9, 3), base=1, per_kv_token=Fraction(1, 64))
        >>> found[0].constraint is Constraint.THINNING, str(Constraint.THINNING)
        (True, 'n_k > p_k n_(k-1)')
    """

    ARRIVALS = "n_1 > r_1 Delta T"
    THINNING = "n_k > p_k n_(k-1)"
    MEMORY = "sum n S <= M"


@dataclass(frozen=True)
class Broken(Record):
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
class NestedThresholds(Record):
    """The least whole thresholds that satisfy (12), and what follows from them; exact.

    Fields:
        thresholds: n_k.
        iteration_time: Delta T(n).
        memory: M^pi = sum of n_k S_k, tokens.
        slack: n_1 - r_1 Delta T, then n_k - p_k n_(k-1): all above 0.

    Examples:
        >>> from fluidkv.wait import Segments, integer_nested_thresholds
        >>> segments = Segments(3, ends=(1, 3), rates=(3, 1))
        >>> found = integer_nested_thresholds(segments, base=1, per_kv_token=Fraction(1, 64))
        >>> found.thresholds, str(found.memory), [str(slack) for slack in found.slack]
        ((7, 3), '82', ['5/32', '2/3'])
    """

    thresholds: tuple[int, ...]
    iteration_time: Fraction
    memory: Fraction
    slack: tuple[Fraction, ...]


def segment_load(segments: Segments, per_kv_token: Exact, per_prefill_token: Exact = 0) -> Fraction:
    """d1 sum of r_k S_k + d2 r_1 l: the load that the thresholds must carry; below 1 or none do.

    (12) asks n_k >= n_1 r_k / r_1, so n_1 > r_1 d0 + n_1 times this.

    Examples:
        >>> from fluidkv.wait import Segments
        >>> from fluidkv.wait.theory.nested import segment_load
        >>> segments = Segments(3, ends=(1, 3), rates=(3, 1))
        >>> segment_load(segments, per_kv_token=Fraction(1, 64))  # (3 (3 + 4) + 1 (5 + 6)) / 64
        Fraction(1, 2)
    """
    d1 = exact("per_kv_token", per_kv_token, least=0)
    d2 = exact("per_prefill_token", per_prefill_token, least=0)
    decoding = d1 * sum(map(operator.mul, segments.rates, segments.costs))
    return decoding + d2 * segments.rates[0] * segments.input_length


def nested_time(
    segments: Segments,
    thresholds: Iterable[Exact],
    base: Exact,
    per_kv_token: Exact,
    per_prefill_token: Exact = 0,
) -> Fraction:
    """Delta T(n) = d0 + d1 sum of n_k S_k + d2 n_1 l: a batch with all segments in it.

    Args:
        segments: where they end, and the rates.
        thresholds: n_k, above 0, one a segment; exact, whole or not.
        base: d0, time, above 0; exact.
        per_kv_token: d1, time a token, at least 0; exact.
        per_prefill_token: d2, time an input token, at least 0; exact.

    Raises:
        InputError: a number out of range.

    Examples:
        >>> from fluidkv.wait import Segments
        >>> from fluidkv.wait.theory.nested import nested_time
        >>> segments = Segments(3, ends=(1, 3), rates=(3, 1))
        >>> nested_time(segments, (9, 4), base=1, per_kv_token=Fraction(1, 107))  # 107 tokens
        Fraction(2, 1)
    """
    d0, d1, d2 = _clock(base, per_kv_token, per_prefill_token)
    prefill = d2 * vector(segments, thresholds)[0] * segments.input_length
    return d0 + d1 * peak_memory(segments, thresholds) + prefill


def peak_memory(segments: Segments, thresholds: Iterable[Exact]) -> Fraction:
    """M^pi = sum of n_k S_k: tokens held by a batch with all segments in it (13).

    Args, raises: as `nested_time`.

    Examples:
        >>> from fluidkv.wait import Segments
        >>> from fluidkv.wait.theory.nested import peak_memory
        >>> segments = Segments(3, ends=(1, 3), rates=(3, 1))
        >>> peak_memory(segments, (9, 4))  # 9 (3 + 4) + 4 (5 + 6)
        Fraction(107, 1)
    """
    n = vector(segments, thresholds)
    return sum(map(operator.mul, n, segments.costs), Fraction(0))


def check_nested(
    segments: Segments,
    thresholds: Iterable[Exact],
    base: Exact,
    per_kv_token: Exact,
    capacity: Exact | None = None,
    *,
    per_prefill_token: Exact = 0,
) -> tuple[Broken, ...]:
    """Every constraint of (12) that the thresholds break; empty if they satisfy it.

    Args:
        segments, thresholds, base, per_kv_token, per_prefill_token: as `nested_time`.
        capacity: M, tokens, above 0; None: not asked.

    Raises:
        InputError: a number out of range.

    Examples:
        >>> from fluidkv.wait import Segments
        >>> from fluidkv.wait.theory.nested import check_nested
        >>> segments = Segments(3, ends=(1, 3), rates=(3, 1))
        >>> clock = {"base": 1, "per_kv_token": Fraction(1, 64)}
        >>> check_nested(segments, (9, 4), **clock)
        ()
        >>> [(str(b.constraint), b.segment) for b in check_nested(segments, (9, 3), **clock)]
        [('n_k > p_k n_(k-1)', 2)]
    """
    n = vector(segments, thresholds)
    room = None if capacity is None else exact("capacity", capacity, above=0)
    time = nested_time(segments, n, base, per_kv_token, per_prefill_token)
    slack = [n[0] - segments.rates[0] * time]
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
            [plain(each) for each in n],
            f"{Constraint.THINNING}: in segment {k}, more than {shown(n[k - 1] + short)}",
        )
    return n


def require_nested(
    segments: Segments,
    thresholds: Iterable[Exact],
    base: Exact,
    per_kv_token: Exact,
    per_prefill_token: Exact = 0,
) -> tuple[Fraction, ...]:
    """The thresholds, if they satisfy (12).

    Raises:
        InputError: the first constraint that breaks, in which segment, and by how much.

    Examples:
        >>> from fluidkv.wait import Segments
        >>> from fluidkv.wait.theory.nested import require_nested
        >>> segments = Segments(3, ends=(1, 3), rates=(3, 1))
        >>> require_nested(segments, (9, 3), base=1, per_kv_token=Fraction(1, 64))
        Traceback (most recent call last):
            ...
        fluidkv.errors.InputError: thresholds: got [9, 3]; allowed: n_k > p_k n_(k-1): in ...
    """
    n = vector(segments, thresholds)
    d2 = per_prefill_token
    broken = check_nested(segments, n, base, per_kv_token, per_prefill_token=d2)
    if broken and broken[0].constraint is Constraint.ARRIVALS:
        # A larger n_1 makes the batch longer as well, and the next segments too.
        short = shown(broken[0].short)
        raise InputError(
            "thresholds",
            [plain(each) for each in n],
            f"{Constraint.ARRIVALS}: arrivals in a full batch are {shown(n[0] + broken[0].short)},"
            f" {short} above n_1 (or as many)",
        )
    return require_thinning(segments, n)


def integer_nested_thresholds(
    segments: Segments,
    base: Exact,
    per_kv_token: Exact,
    per_prefill_token: Exact = 0,
    *,
    extra: Iterable[int] | None = None,
) -> NestedThresholds:
    """The least whole thresholds that satisfy (12): no other whole ones are lower anywhere.

    Args:
        segments: where they end, and the rates.
        base: d0, time, above 0; exact.
        per_kv_token: d1, time a token, at least 0; exact.
        per_prefill_token: d2, time an input token, at least 0; exact.
        extra: e_k, whole numbers of at least 0, one a segment, that each line keeps to spare:
            n_1 > r_1 Delta T + e_1 and n_k > p_k n_(k-1) + e_k. None: 0.

    Raises:
        InputError: a load of the segments of 1 or more, for which there are none, or a load so
            near 1 that the least ones were not found.

    All right-hand sides rise with n, so two solutions have their lower envelope as another, and
    there is a least one below which nothing is feasible.

    Examples:
        >>> from fluidkv.wait import Segments, integer_nested_thresholds
        >>> segments = Segments(3, ends=(1, 3), rates=(3, 1))
        >>> integer_nested_thresholds(segments, base=1, per_kv_token=Fraction(1, 64)).thresholds
        (7, 3)
    """
    d0, d1, d2 = _clock(base, per_kv_token, per_prefill_token)
    given = [0] * len(segments) if extra is None else several("extra", extra, "one a segment")
    spare = [count("extra", e, least=0) for e in given]
    if len(spare) != len(segments):
        raise InputError("extra", f"{len(spare)} of them", f"{len(segments)}, one a segment")
    _require_load(segments, d1, d2)
    clock = WholeClock.of(segments.rates, d0, d1, d2)
    rates = [int(rate * clock.unit) for rate in segments.rates]
    costs = segment_times(segments.input_length, segments.ends, clock)
    n = least_of_segments(rates, costs, clock, spare)
    if n is None:
        raise InputError(
            "rates",
            f"{shown(segments.rates[0])} prompts per unit of time",
            f"less, for the least whole thresholds: not found at a load of 1 - "
            f"{shown(1 - segment_load(segments, d1, d2))} with {len(segments)} segments",
        )
    time = nested_time(segments, n, d0, d1, d2)
    slack = (n[0] - segments.rates[0] * time, *_thinning_slack(segments, n))
    return NestedThresholds(n, time, peak_memory(segments, n), slack)


def vector(segments: Segments, thresholds: Iterable[Exact]) -> tuple[Fraction, ...]:
    """One number above 0 for each segment.

    Raises:
        InputError: a number that is not, or too many or few.
    """
    given = several("thresholds", thresholds, "one number a segment")
    n = tuple(exact("thresholds", each, above=0) for each in given)
    if len(n) != len(segments):
        raise InputError("thresholds", f"{len(n)} of them", f"{len(segments)}, one a segment")
    return n


def segment_times(input_length: int, ends: Iterable[int], clock: WholeClock) -> list[int]:
    """What a prompt of each segment adds to a batch, times `clock.grid`; the first has stage 0."""
    inputs = itertools.chain([input_length], itertools.repeat(0))
    return list(map(clock.time, double_costs(input_length, ends), inputs))


def _require_load(segments: Segments, d1: Fraction, d2: Fraction) -> None:
    load = segment_load(segments, d1, d2)
    if load >= 1:
        rate = segments.rates[0]
        clock = "d1, d2: their load d1 sum(r S) + d2 r l" if d2 else "d1: their load d1 sum(r S)"
        raise InputError(
            "rates",
            f"{shown(rate)} prompts per unit of time",
            f"below {shown(rate / load)} with these segments and {clock} is {shown(load)} and must "
            "be below 1",
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


def _clock(
    base: Exact, per_kv_token: Exact, per_prefill_token: Exact
) -> tuple[Fraction, Fraction, Fraction]:
    return (
        exact("base", base, above=0),
        exact("per_kv_token", per_kv_token, least=0),
        exact("per_prefill_token", per_prefill_token, least=0),
    )
