"""The part of the answer for outputs that are not known: Nested WAIT, its memory, its segments.

Source: WAIT, sections 5 and 7.2 (equations 12, 14, 16, 17). The best number of segments and the
delta that a capacity grants are ours.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.wait.model import WaitSystem
from fluidkv.wait.segments import Segments
from fluidkv.wait.theory.boundary_queue import ends as ends_of
from fluidkv.wait.theory.bounds import MemoryBound, theorem_2_memory
from fluidkv.wait.theory.design import SegmentDesign, SegmentProblem, segment_designs
from fluidkv.wait.theory.design_search import moved, tightened
from fluidkv.wait.theory.nested import (
    check_nested,
    integer_nested_thresholds,
    nested_time,
    require_nested,
    segment_load,
)

_LOWER_RATES = tuple(Fraction(k, 20) for k in range(19, 0, -1))


@dataclass(frozen=True)
class SegmentPlan(Record):
    """Segments, thresholds that satisfy (12), and the memory that holds them.

    Fields:
        segments, thresholds: of the policy.
        iteration_time: of a batch with all segments in it; exact.
        bound: M^pi, the waiting prompts and their tail, up to the horizon; in balls.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> tenth = Fraction(1, 10)
        >>> system = WaitSystem([PromptType(1, 1, 1), PromptType(1, 1, 2)], tenth, tenth)
        >>> plan = fk.wait_study(system, 200, unknown_lengths=True, simulate=False).nested.chosen
        >>> plan.thresholds, plan.segments.ends, plan.iteration_time, float(plan.latency_at_least)
        ((7, 4), (1, 2), Fraction(17, 5), 3.5)
    """

    segments: Segments
    thresholds: tuple[int, ...]
    iteration_time: Fraction
    bound: MemoryBound

    @property
    def buffer(self) -> float:
        """Tokens beyond the batch: queue and tail, rounded up."""
        return math.nextafter(float(self.bound.queue) + ends_of(self.bound.tail)[1], math.inf)

    @property
    def latency_at_least(self) -> Fraction:
        """Sum of (stages of segment k less 1) n_k / r_k: mean time that a longest output needs.

        In the long run batches run segment k at rate r_k / n_k, since each takes n_k of those who
        come to it; who is in the segment goes on by one stage with each. What it waits before a
        segment comes on top.
        """
        rows = zip(self.thresholds, self.segments.spans, self.segments.rates, strict=True)
        return sum((n * (span - 1) / rate for n, span, rate in rows), Fraction(0))


@dataclass(frozen=True)
class NestedAnswer(Record):
    """Nested WAIT for one server.

    Fields:
        capacity: M, tokens.
        delta: chance of an overflow before the horizon that the bounds allow.
        plan: the caller's segments and thresholds; else a segment for each output length and the
            least thresholds.
        load: of those segments, d1 sum of r_k S_k + d2 r_1 l.
        given: whether the caller gave segments or thresholds.
        best: the number of segments whose bound is least, improved by moving ends and thresholds;
            None where the caller gave them.
        designs: the least bound found for each number of segments, ends at equal distances or after
            equal shares of the prompts.
        delta_at_capacity: chance of an overflow that the bound of `chosen` grants M: an upper bound
            on the chance, rounded up; None where it grants nothing.
        lower_rates: where M is too small, the largest factor in twentieths on all rates at which
            the best design fits, of those tried; None: none does.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> tenth = Fraction(1, 10)
        >>> system = WaitSystem([PromptType(1, 1, 1), PromptType(1, 1, 2)], tenth, tenth)
        >>> found = fk.wait_study(system, 9, unknown_lengths=True, simulate=False).nested
        >>> found.fits, found.chosen.thresholds, found.delta
        (False, (7, 4), Fraction(1, 100))
    """

    capacity: Fraction
    delta: Fraction
    plan: SegmentPlan
    load: Fraction
    given: bool
    best: SegmentPlan | None
    designs: tuple[SegmentDesign, ...]
    delta_at_capacity: float | None
    lower_rates: Fraction | None

    @property
    def chosen(self) -> SegmentPlan:
        """The best plan, or the caller's."""
        return self.best or self.plan

    @property
    def fits(self) -> bool:
        """Whether the capacity satisfies the bound of the chosen plan."""
        return self.capacity >= self.chosen.bound.capacity


def nested_answer(
    system: WaitSystem,
    capacity: Fraction,
    *,
    horizon: Fraction,
    delta: Fraction,
    thresholds: tuple[int, ...] | None = None,
    ends: Iterable[int] | None = None,
) -> NestedAnswer:
    """Thresholds, memory and the best segments of Nested WAIT.

    Args:
        system: types of one input length, with a load below 1.
        capacity: M, tokens.
        horizon, delta: of the bound.
        thresholds: one for each segment; None: the least.
        ends: the last output of each segment; None: every output length.

    Raises:
        InputError: several input lengths, ends that do not fit, segments that no thresholds carry,
            or thresholds that break (12) or the capacity; the message says by how much.
    """
    segments = Segments.of(system, ends)
    base, d1, d2 = system.base, system.per_kv_token, system.per_prefill_token
    given = thresholds is not None or ends is not None
    if thresholds is None:
        n = integer_nested_thresholds(segments, base, d1, d2).thresholds
    else:
        require_nested(segments, thresholds, base, d1, d2)
        checked = check_nested(segments, thresholds, base, d1, capacity, per_prefill_token=d2)
        for broken in checked:
            allowed = f"{broken.constraint}: less by {_shown(broken.short)} tokens"
            raise InputError("thresholds", list(thresholds), allowed)
        n = thresholds
    plan = _plan(system, segments, n, horizon, delta)
    problem = SegmentProblem(system, horizon, delta)
    designs = _designs(problem, system, horizon, delta)
    best = None
    if not given:
        least = min(designs, key=lambda design: design.total)
        found = moved(problem, tightened(problem, least))
        best = _plan(system, found.segments, found.thresholds, horizon, delta)
    chosen = best or plan
    fits = capacity >= chosen.bound.capacity
    return NestedAnswer(
        capacity=capacity,
        delta=delta,
        plan=plan,
        load=segment_load(segments, d1, d2),
        given=given,
        best=best,
        designs=designs,
        delta_at_capacity=_delta(chosen.bound, delta, capacity),
        lower_rates=None if fits else _lower_rates(system, capacity, horizon, delta),
    )


def _plan(
    system: WaitSystem,
    segments: Segments,
    n: tuple[int, ...],
    horizon: Fraction,
    delta: Fraction,
) -> SegmentPlan:
    base, d1, d2 = system.base, system.per_kv_token, system.per_prefill_token
    bound = theorem_2_memory(
        segments, n, base, horizon, delta, per_kv_token=d1, per_prefill_token=d2
    )
    return SegmentPlan(segments, n, nested_time(segments, n, base, d1, d2), bound)


def _designs(
    problem: SegmentProblem, system: WaitSystem, horizon: Fraction, delta: Fraction
) -> tuple[SegmentDesign, ...]:
    """The better of both cuts for each number of segments; every output length ends one, too."""
    found = [
        *segment_designs(system, horizon, delta).designs,
        *segment_designs(system, horizon, delta, cut="share").designs,
    ]
    every = problem.design(problem.outputs)
    if every is not None:  # with a load below 1 there are thresholds, but they may not be found
        found.append(every)
    by_count: dict[int, SegmentDesign] = {}
    for design in found:
        known = by_count.get(design.count)
        if known is None or design.total < known.total:
            by_count[design.count] = design
    return tuple(by_count[number] for number in sorted(by_count))


def _delta(bound: MemoryBound, delta: Fraction, capacity: Fraction) -> float | None:
    """(L - 1) N e^(-x / A): x tokens are left for the tail, which has A for each factor e."""
    left = capacity - bound.batch - bound.queue
    if left < 0:
        return None
    tail = ends_of(bound.tail)[1]
    events = len(bound.etas) * bound.batches
    if not events or bound.tail == 0:  # no boundary, or none where a queue can grow
        return 0.0
    certainty = math.log(events * delta.denominator) - math.log(delta.numerator)
    chance = events * math.exp(-float(left) / tail * certainty)
    return math.nextafter(chance, math.inf) if chance < 1 else None


def _lower_rates(
    system: WaitSystem, capacity: Fraction, horizon: Fraction, delta: Fraction
) -> Fraction | None:
    """Not by bisection: whole thresholds make the bound go up and down a little with the rates."""
    for factor in _LOWER_RATES:
        scaled = system.scaled(factor)
        found = [
            segment_designs(scaled, horizon, delta, cut=cut).best for cut in ("width", "share")
        ]
        if min(design.total for design in found) <= capacity:
            return factor
    return None


def _shown(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.6g}"
