"""How many segments, where they end, and which thresholds: what makes the memory bound small.

Few segments count n_k prompts at stages that most have left before; many segments have many
boundary queues, and whole thresholds that must each lie above p_k times the one before. The memory
bound (17) is the sum of both. Here it is computed for every number of segments; `design_search`
improves it by moving thresholds or ends.

Thresholds, M^pi and the queue term are exact; eta_k, and so the tail, are floats in a sweep, good
to some ten digits. `theorem_2_memory` certifies the bound of the design that is chosen.

Source: WAIT, section 7.2. The paper puts the ends at equal distances; `cut="share"` is an addition.
"""

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from fluidkv.errors import InputError
from fluidkv.labels import dataset, rows
from fluidkv.record import Record
from fluidkv.wait.model import (
    Exact,
    WaitSystem,
    count,
    exact,
    finite,
    plain,
    probability,
    several,
    shown,
)
from fluidkv.wait.segments import Segments, double_costs
from fluidkv.wait.theory.boundary_queue import eta
from fluidkv.wait.theory.float_etas import MOST_PROMPTS, inverse_etas
from fluidkv.wait.theory.least_whole import WholeClock, least_of_segments
from fluidkv.wait.theory.nested import segment_load, segment_times

if TYPE_CHECKING:
    import xarray as xr

Cut = Literal["width", "share"]


@dataclass(frozen=True)
class SegmentDesign(Record):
    """Segments, thresholds that satisfy (12), and the three terms of the memory bound in tokens.

    Fields:
        segments, thresholds: of the policy.
        extra: e_k of `integer_nested_thresholds`; all 0 for the least thresholds.
        batch: M^pi; exact.
        queue: sum of (l + l'_(k-1)) n_k over k >= 2; exact.
        tail: sum of (l + l'_(k-1)) ln((L - 1) N / delta) / eta_k; float.
        load: d1 sum of r_k S_k + d2 r_1 l.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> from fluidkv.wait.theory.design import SegmentProblem
        >>> system = WaitSystem([PromptType(2, 3, 1), PromptType(1, 3, 3)], 1, Fraction(1, 64))
        >>> design = SegmentProblem(system, horizon=100, delta=Fraction(1, 100)).design(ends=(1, 3))
        >>> design.count, design.thresholds, float(design.batch), round(design.total, 3)
        (2, (7, 3), 82.0, 139.864)
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
class SegmentSweep(Record):
    """Designs by number of segments.

    Fields:
        designs: those that can be served, by number of segments, each set of ends once.
        unserved: number of segments -> load, where that is 1 or more and no thresholds exist.
        not_found: number of segments -> load, where that is below 1, but so near that the search
            for the least thresholds was given up.
    """

    designs: tuple[SegmentDesign, ...]
    unserved: dict[int, Fraction]
    not_found: dict[int, Fraction]

    def to_xarray(self) -> "xr.Dataset":
        """A design a row, dimension `design`, with the terms of its memory bound."""
        counts = [len(design.segments) for design in self.designs]
        titles = {
            "batch": ("token", "M^pi, of the batch"),
            "queue": ("token", "of prompts that wait for a batch"),
            "tail": ("token", "of queues beyond that, by their tail"),
            "total": ("token", "the memory bound"),
            "load": ("1", "load"),
        }
        return dataset(
            {
                "segments": ("design", counts, "1", "number of segments"),
                **rows("design", self.designs, titles),
            }
        )

    @property
    def best(self) -> SegmentDesign:
        """The least total.

        Raises:
            InputError: no number of segments can be served, or none has thresholds that were found.
        """
        if not self.designs:
            tried = sorted({*self.unserved, *self.not_found})
            if self.not_found:
                spare = shown(1 - min(self.not_found.values()))
                allowed = f"a lower load: least thresholds not found at 1 - {spare}"
            else:
                allowed = f"a load below 1, not {shown(min(self.unserved.values()))}"
            raise InputError("counts", tried, allowed)
        return min(self.designs, key=lambda design: design.total)


class SegmentProblem:
    """One question about segments: a system, a horizon, a chance of more.

    Args:
        system: types with one input length; hundreds of output lengths do.
        horizon: T, at least one iteration without tokens, d0; exact.
        delta: in (0, 1); exact.

    Raises:
        InputError: several input lengths, or a number out of range.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> from fluidkv.wait.theory.design import SegmentProblem
        >>> system = WaitSystem([PromptType(2, 3, 1), PromptType(1, 3, 3)], 1, Fraction(1, 64))
        >>> problem = SegmentProblem(system, horizon=100, delta=Fraction(1, 100))
        >>> problem.outputs, problem.ends(1), problem.segments((1, 3)).thinning
        ((1, 3), (3,), (Fraction(1, 3),))
    """

    def __init__(self, system: WaitSystem, horizon: Exact, delta: Exact) -> None:
        all_ends = Segments.of(system)
        time, chance = exact("horizon", horizon, above=0), probability("delta", delta)
        if time < system.base:
            allowed = f"at least d0 = {plain(system.base)}, one iteration"
            raise InputError("horizon", str(plain(time)), allowed)
        self.input_length, self.outputs = all_ends.input_length, all_ends.ends
        self.per_kv_token = system.per_kv_token
        self.per_prefill_token = system.per_prefill_token
        # ln(N / delta); logarithms of whole numbers, which may be beyond floats
        log_chance = math.log(chance.numerator) - math.log(chance.denominator)
        self.log_events = math.log(time // system.base) - log_chance
        self._alive = (*all_ends.rates, Fraction(0))  # rate of outputs longer than the k-th end
        self._clock = WholeClock.of(
            all_ends.rates, system.base, system.per_kv_token, system.per_prefill_token
        )
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

    def segments(self, ends: Iterable[int]) -> Segments:
        """The segments with these ends.

        Raises:
            InputError: ends that are not increasing output lengths, the longest one the last.
        """
        stops = self._stops(ends)
        return Segments(self.input_length, stops, tuple(self._alive[i] for i in self._rows(stops)))

    def design(
        self, ends: Iterable[int], extra: Iterable[int] | None = None
    ) -> SegmentDesign | None:
        """The least thresholds for these ends and their bound; None where there are none.

        Args:
            ends: increasing output lengths, the longest one the last.
            extra: e_k of `integer_nested_thresholds`, one a segment, at least 0; None: 0.

        Returns:
            None where the load is 1 or more, or so near that the search was given up.

        Raises:
            InputError: ends or extra that are not what is said here, or memory beyond floats.
        """
        stops = self._stops(ends)
        spare = self._spare(len(stops), extra)
        rates = [self._whole[row] for row in self._rows(stops)]
        costs = double_costs(self.input_length, stops)
        times = segment_times(self.input_length, stops, self._clock)
        load = sum(r * t for r, t in zip(rates, times, strict=True))
        if load >= self._clock.unit * self._clock.grid:
            return None
        n = least_of_segments(rates, times, self._clock, spare)
        if n is None:
            return None
        held = [self.input_length + end for end in stops[:-1]]
        found = SegmentDesign(
            segments=self.segments(stops),
            thresholds=n,
            extra=spare,
            batch=Fraction(sum(k * s for k, s in zip(n, costs, strict=True)), 2),
            queue=sum(k * tokens for k, tokens in zip(n[1:], held, strict=True)),
            tail=self._tail(rates, n, held),
            load=Fraction(load, self._clock.unit * self._clock.grid),
        )
        finite("tokens", found.batch + found.queue)
        return found

    def _stops(self, ends: Iterable[int]) -> tuple[int, ...]:
        stops = tuple(count("ends", end) for end in several("ends", ends, "output lengths"))
        known = set(self.outputs)
        if any(b <= a for a, b in itertools.pairwise(stops)):
            raise InputError("ends", list(stops), "increasing output lengths")
        unknown = next((end for end in stops if end not in known), None)
        if unknown is not None:
            raise InputError("ends", unknown, "output lengths of the types")
        if not stops or stops[-1] != self.outputs[-1]:
            raise InputError(
                "ends", list(stops), f"the longest output, {self.outputs[-1]}, as the last"
            )
        return stops

    @staticmethod
    def _spare(number: int, extra: Iterable[int] | None) -> tuple[int, ...]:
        given = (0,) * number if extra is None else several("extra", extra, "one a segment")
        spare = tuple(count("extra", each, least=0) for each in given)
        if len(spare) != number:
            raise InputError("extra", f"{len(spare)} of them", f"{number}, one a segment")
        return spare

    def _rows(self, ends: tuple[int, ...]) -> list[int]:
        return [0, *(bisect_left(self.outputs, end) + 1 for end in ends[:-1])]

    def _tail(self, rates: list[int], n: tuple[int, ...], held: list[int]) -> float:
        if not held:
            return 0.0
        queues = list(zip(n, n[1:], rates, rates[1:], strict=False))
        if max(n) > MOST_PROMPTS:  # beyond what floats tell apart: certified, one by one
            etas = (eta(before, Fraction(b, a), after) for before, after, a, b in queues)
            inverse = [float(each.reciprocal.mid()) for each in etas]
        else:
            # shares, what they leave and the drift, each exact before it is a float
            p = [b / a for _, _, a, b in queues]
            q = [(a - b) / a for _, _, a, b in queues]
            drift = [(after * a - b * before) / a for before, after, a, b in queues]
            inverse = inverse_etas(*map(np.array, (n[:-1], p, q, n[1:], drift)))
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
        counts: numbers of segments, at least one; None: from 1 to the number of output lengths.
        cut: as `SegmentProblem.ends`.

    Raises:
        InputError: as `SegmentProblem`, or no count or one out of range.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> from fluidkv.wait.theory.design import segment_designs
        >>> types = [PromptType(4, 3, 1), PromptType(1, 3, 4), PromptType(1, 3, 6)]
        >>> system = WaitSystem(types, 1, Fraction(1, 200))
        >>> found = segment_designs(system, horizon=100, delta=Fraction(1, 100))
        >>> [(design.count, round(design.total)) for design in found.designs], found.best.count
        ([(2, 448), (3, 447)], 3)
    """
    problem = SegmentProblem(system, horizon, delta)
    possible = range(1, len(problem.outputs) + 1)
    asked = possible if counts is None else several("counts", counts, "numbers of segments")
    if not asked:
        raise InputError("counts", [], "at least one number of segments")
    designs: dict[tuple[int, ...], SegmentDesign] = {}
    unserved: dict[int, Fraction] = {}
    not_found: dict[int, Fraction] = {}
    for number in asked:
        ends = problem.ends(number, cut)
        found = designs.get(ends) or problem.design(ends)
        if found is None:
            clock = system.per_kv_token, system.per_prefill_token
            load = segment_load(problem.segments(ends), *clock)
            (unserved if load >= 1 else not_found)[len(ends)] = load
        else:
            designs[ends] = found
    ordered = sorted(designs.values(), key=lambda design: design.count)
    return SegmentSweep(tuple(ordered), unserved, not_found)
