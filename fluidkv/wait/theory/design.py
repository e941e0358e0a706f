"""How many segments, where they end, and which thresholds: what makes the memory bound small.

Few segments count n_k prompts at stages that most have left before; many segments have many
boundary queues, and whole thresholds that must each lie above p_k times the one before. The memory
bound (17) is the sum of both. Here it is computed for every number of segments, and improved by
moving thresholds or ends.

Thresholds, M^pi and the queue term are exact; eta_k, and so the tail, are floats in a sweep, good
to some ten digits. `theorem_2_memory` certifies the bound of the design that is chosen.

Source: WAIT, section 7.2. The paper puts the ends at equal distances; `cut="share"`, `tightened`
and `moved` are additions.
"""

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from fluidkv.errors import InputError
from fluidkv.wait.model import Exact, WaitSystem, count, exact
from fluidkv.wait.segments import Segments
from fluidkv.wait.theory.nested import WholeClock, least_whole, segment_load

Cut = Literal["width", "share"]
Floats = npt.NDArray[np.float64]

_ROUNDS = 20  # of a local search; those seen end after two to six


@dataclass(frozen=True)
class SegmentDesign:
    """Segments, thresholds that satisfy (12), and the three terms of the memory bound in tokens.

    Fields:
        segments, thresholds: of the policy.
        extra: e_k of `integer_nested_thresholds`; all 0 for the least thresholds.
        batch: M^pi; exact.
        queue: sum of (l + l'_(k-1)) n_k over k >= 2; exact.
        tail: sum of (l + l'_(k-1)) ln((L - 1) N / delta) / eta_k; float.
        load: d1 sum of r_k S_k.
    """

    segments: Segments
    thresholds: tuple[int, ...]
    extra: tuple[int, ...]
    batch: Fraction
    queue: int
    tail: float
    load: Fraction

    @property
    def count(self) -> int:
        """L, the number of segments."""
        return len(self.segments)

    @property
    def total(self) -> float:
        """The memory bound, tokens."""
        return float(self.batch + self.queue) + self.tail


@dataclass(frozen=True)
class SegmentSweep:
    """Designs by number of segments.

    Fields:
        designs: those that can be served, by number of segments, each set of ends once.
        unserved: number of segments -> load, where that is 1 or more and no thresholds exist.
    """

    designs: tuple[SegmentDesign, ...]
    unserved: dict[int, Fraction]

    @property
    def best(self) -> SegmentDesign:
        """The least total.

        Raises:
            InputError: no number of segments can be served.
        """
        if not self.designs:
            lowest = min(self.unserved.values())
            raise InputError("counts", list(self.unserved), f"a load below 1, not {float(lowest)}")
        return min(self.designs, key=lambda design: design.total)


class SegmentProblem:
    """One question about segments: a system, a horizon, a chance of more.

    Args:
        system: types with one input length; hundreds of output lengths do.
        horizon: T, at least one iteration without tokens, d0; exact.
        delta: in (0, 1); exact.

    Raises:
        InputError: several input lengths, or a number out of range.
    """

    def __init__(self, system: WaitSystem, horizon: Exact, delta: Exact) -> None:
        all_ends = Segments.of(system)
        time, chance = exact("horizon", horizon, above=0), exact("delta", delta, above=0)
        if time < system.base:
            raise InputError("horizon", str(time), f"at least d0 = {system.base}, one iteration")
        if chance >= 1:
            raise InputError("delta", str(chance), "a probability in (0, 1)")
        self.input_length, self.outputs = all_ends.input_length, all_ends.ends
        self.per_kv_token = system.per_kv_token
        self.log_events = math.log(time // system.base) - math.log(chance)  # of ln((L - 1) N/delta)
        self._alive = (*all_ends.rates, Fraction(0))  # rate of outputs longer than the k-th end
        self._clock = WholeClock.of(all_ends.rates, system.base, system.per_kv_token)
        self._whole = [int(rate * self._clock.unit) for rate in self._alive]

    def ends(self, number: int, cut: Cut = "width") -> tuple[int, ...]:
        """Ends of that many segments, each at an output length; fewer where two would agree.

        Args:
            number: L, at most the number of output lengths.
            cut: "width": at equal distances up to the longest output, then back to the next output
                length; "share": after equal shares of the prompts, as nearly as can be.
        """
        number = count("counts", number)
        if number > len(self.outputs):
            raise InputError("counts", number, f"at most {len(self.outputs)}, one an output length")
        longest, places = self.outputs[-1], range(1, number + 1)
        if cut == "width":
            found = [bisect_right(self.outputs, longest * i // number) - 1 for i in places]
        elif cut == "share":
            done = [self._whole[0] - rate for rate in self._whole[1:]]
            found = [bisect_left(done, -(-self._whole[0] * i // number)) for i in places]
        else:
            raise InputError("cut", cut, "'width' or 'share'")
        return tuple(sorted({self.outputs[place] for place in found if place >= 0}))

    def segments(self, ends: tuple[int, ...]) -> Segments:
        """The segments with these ends."""
        return Segments(self.input_length, ends, tuple(self._alive[i] for i in self._rows(ends)))

    def design(
        self, ends: tuple[int, ...], extra: tuple[int, ...] | None = None
    ) -> SegmentDesign | None:
        """The least thresholds for these ends and their bound; None where there are none."""
        spare = (0,) * len(ends) if extra is None else extra
        rates = [self._whole[row] for row in self._rows(ends)]
        costs = _double_costs(self.input_length, ends)
        load = self._clock.step * sum(r * s for r, s in zip(rates, costs, strict=True))
        if load >= self._clock.unit * self._clock.grid:
            return None
        n = least_whole(rates, costs, self._clock, spare)
        if n is None:
            return None
        held = [self.input_length + end for end in ends[:-1]]
        return SegmentDesign(
            segments=self.segments(ends),
            thresholds=n,
            extra=spare,
            batch=Fraction(sum(k * s for k, s in zip(n, costs, strict=True)), 2),
            queue=sum(k * tokens for k, tokens in zip(n[1:], held, strict=True)),
            tail=self._tail(rates, n, held),
            load=Fraction(load, self._clock.unit * self._clock.grid),
        )

    def _rows(self, ends: tuple[int, ...]) -> list[int]:
        return [0, *(bisect_left(self.outputs, end) + 1 for end in ends[:-1])]

    def _tail(self, rates: list[int], n: tuple[int, ...], held: list[int]) -> float:
        if not held:
            return 0.0
        # the drift may be far below a rounding of n: exact before it is a float
        drift = [
            (after * a - b * before) / a
            for before, after, a, b in zip(n, n[1:], rates, rates[1:], strict=False)
        ]
        p = [b / a for a, b in itertools.pairwise(rates)]
        inverse = inverse_etas(np.array(n[:-1]), np.array(p), np.array(n[1:]), np.array(drift))
        return float(np.dot(held, inverse)) * (self.log_events + math.log(len(held)))


def segment_designs(
    system: WaitSystem,
    horizon: Exact,
    delta: Exact,
    *,
    counts: Iterable[int] | None = None,
    cut: Cut = "width",
) -> SegmentSweep:
    """The least thresholds and their memory bound for every number of segments.

    Args:
        system, horizon, delta: as `SegmentProblem`.
        counts: numbers of segments; None: from 1 to the number of output lengths.
        cut: as `SegmentProblem.ends`.

    Raises:
        InputError: as `SegmentProblem`, or a count out of range.
    """
    problem = SegmentProblem(system, horizon, delta)
    asked = range(1, len(problem.outputs) + 1) if counts is None else counts
    designs: dict[tuple[int, ...], SegmentDesign] = {}
    unserved: dict[int, Fraction] = {}
    for number in asked:
        ends = problem.ends(number, cut)
        found = designs.get(ends) or problem.design(ends)
        if found is None:
            unserved[len(ends)] = segment_load(problem.segments(ends), system.per_kv_token)
        else:
            designs[ends] = found
    ordered = sorted(designs.values(), key=lambda design: design.count)
    return SegmentSweep(tuple(ordered), unserved)


def tightened(problem: SegmentProblem, design: SegmentDesign) -> SegmentDesign:
    """Thresholds above the least ones, where the tail falls by more than the batch grows.

    Whole thresholds may lie just above p_k n_(k-1), and 1 / eta_k grows like one over the
    distance. A local search: one more or less to spare in one segment, kept where the total falls,
    until none does. It is never worse than `design`; nothing says that it is the best.
    """
    return _descend(problem, design, _extras)


def moved(problem: SegmentProblem, design: SegmentDesign) -> SegmentDesign:
    """The same number of segments with ends elsewhere: a local search over one end at a time.

    Thresholds keep what they have to spare. Never worse than `design`, not certainly the best.
    """
    return _descend(problem, design, _ends)


def _descend(problem: SegmentProblem, design: SegmentDesign, neighbours) -> SegmentDesign:
    best = design
    for _ in range(_ROUNDS):
        before = best.total
        for place in range(best.count):
            for ends, extra in neighbours(problem, best, place):
                found = problem.design(ends, extra)
                if found is not None and found.total < best.total:
                    best = found
        if best.total >= before:
            break
    return best


_Choice = tuple[tuple[int, ...], tuple[int, ...]]


def _extras(problem: SegmentProblem, design: SegmentDesign, place: int) -> Iterator[_Choice]:
    for change in (1, -1):
        value = design.extra[place] + change
        if value >= 0:
            yield (
                design.segments.ends,
                (*design.extra[:place], value, *design.extra[place + 1 :]),
            )


def _ends(problem: SegmentProblem, design: SegmentDesign, place: int) -> Iterator[_Choice]:
    ends = design.segments.ends
    if place + 1 == len(ends):  # the last end is the longest output
        return
    low = bisect_right(problem.outputs, ends[place - 1]) if place else 0
    high = bisect_left(problem.outputs, ends[place + 1])
    here, step = bisect_left(problem.outputs, ends[place]), 1
    while step <= len(problem.outputs):
        for row in (here - step, here + step):
            if low <= row < high:
                yield (*ends[:place], problem.outputs[row], *ends[place + 1 :]), design.extra
        step *= 2


def inverse_etas(n_prev: Floats, p: Floats, n: Floats, drift: Floats) -> Floats:
    """1 / eta of many queues at once, in floats; 0 where eta is infinite.

    Newton's steps from the right of the root, as in `boundary_queue`; where eta is small, f by its
    first terms, since the logarithm would lose what is left of the drift.

    Args:
        n_prev, p, n: as `eta`, shape (queues,).
        drift: n - p n_prev, above 0, computed exactly before it was rounded.
    """
    inverse = np.zeros(len(p))
    finite = n < n_prev
    n_prev, p, n, drift = (np.asarray(x, dtype=float)[finite] for x in (n_prev, p, n, drift))
    q = 1 - p
    x = -np.log(p) * n_prev / (n_prev - n)
    for _ in range(200):  # a step halves x at worst; 2^-200 is beyond any drift
        decay = np.exp(-x)
        near = np.log1p(p * np.expm1(np.minimum(x, 1.0)))
        log = np.where(x > 1, x + np.log(p + q * decay), near) - p * x
        series = p * q * x**2 * (1 / 2 + x * ((1 - 2 * p) / 6 + x * (1 - 6 * p * q) / 24))
        # the next term is at most x^5 / 120, 1e-9 of the first at 1e-3
        f = n_prev * np.where(x < 1e-3, series, log) - drift * x
        # p/(p + q e^-x) - p, times n_prev, less the drift: no large numbers cancel
        slope = -n_prev * p * q * np.expm1(-x) / (p + q * decay) - drift
        step = np.where(slope > 0, f / np.where(slope > 0, slope, 1.0), 0.0)
        x = x - step
        if np.all(np.abs(step) <= 1e-12 * x):
            break
    inverse[finite] = 1 / x
    return inverse


def _double_costs(input_length: int, ends: tuple[int, ...]) -> list[int]:
    """2 S_k of each segment."""
    starts = (0, *(end + 1 for end in ends[:-1]))
    return [
        (end - start + 1) * (2 * input_length + start + end)
        for start, end in zip(starts, ends, strict=True)
    ]
