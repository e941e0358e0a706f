"""Decoding cut into segments: what a server knows of outputs that it cannot foresee.

All prompts start in segment 1. Who has not finished at its end goes on to segment 2, and so on: a
prompt tells its length by how far it comes. A segment may end at the output length of a type (the
paper's Algorithm 2) or hold several output lengths (section 7.2).

Source: WAIT, sections 5 and 7.2 (equations 12, 13, 16).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.wait.model import WaitSystem, count, exact, plain, several


@dataclass(frozen=True)
class Segments(Record):
    """Where segments end, and how often prompts come to each.

    Args:
        input_length: l, tokens, common to all prompts.
        ends: the last stage of each segment, increasing, the first at least 1; the last one is the
            longest output.
        rates: r_k, prompts per unit of time whose output is longer than segment k - 1; exact,
            above 0, not increasing. r_1 is the rate of all arrivals.

    Raises:
        InputError: ends that do not increase, rates that increase, or a number out of range.

    Examples:
        >>> segments = fk.wait.Segments(3, ends=(1, 3), rates=(3, 1))
        >>> segments.starts, segments.thinning  # one in three outlasts the first segment
        ((0, 2), (Fraction(1, 3),))
        >>> segments.costs  # 3 + 4 tokens, then 5 + 6
        (Fraction(7, 1), Fraction(11, 1))
    """

    input_length: int
    ends: tuple[int, ...]
    rates: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "input_length", count("input_length", self.input_length))
        ends = tuple(
            count("ends", end) for end in several("ends", self.ends, "increasing output lengths")
        )
        rates = tuple(
            exact("rates", rate, above=0)
            for rate in several("rates", self.rates, "one for each segment")
        )
        if not ends or any(b <= a for a, b in pairwise(ends)):
            raise InputError("ends", list(ends), "increasing output lengths, at least one")
        if len(rates) != len(ends):
            raise InputError("rates", f"{len(rates)} of them", f"{len(ends)}, one for each segment")
        for k, (before, after) in enumerate(pairwise(rates), start=2):
            if after > before:
                allowed = f"at most {plain(before)}, the rate of the segment before"
                raise InputError("rates", f"{plain(after)} in segment {k}", allowed)
        object.__setattr__(self, "ends", ends)
        object.__setattr__(self, "rates", rates)

    @classmethod
    def of(cls, system: WaitSystem, ends: Iterable[int] | None = None) -> "Segments":
        """The segments of a system whose prompts share their input length.

        Args:
            system: types and rates.
            ends: output lengths that end a segment, the longest one among them; None: all.

        Raises:
            InputError: several input lengths, an end that is no output length, or a last end that
                is not the longest output.
        """
        inputs = {each.input_length for each in system.types}
        if len(inputs) > 1:
            raise InputError("input_length", sorted(inputs), "one input length for all types")
        outputs = sorted(each.output_length for each in system.types)
        given = outputs if ends is None else several("ends", ends, "increasing output lengths")
        chosen = tuple(count("ends", end) for end in given)
        if any(b <= a for a, b in pairwise(chosen)):
            raise InputError("ends", list(chosen), "increasing output lengths")
        for end in chosen:
            if end not in outputs:
                raise InputError("ends", end, "output lengths of the types")
        if not chosen or max(chosen) != outputs[-1]:
            raise InputError(
                "ends", list(chosen), f"the longest output, {outputs[-1]}, as the last"
            )
        rates = tuple(
            sum((t.arrival_rate for t in system.types if t.output_length > before), Fraction(0))
            for before in (0, *chosen[:-1])
        )
        return cls(inputs.pop(), chosen, rates)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def starts(self) -> tuple[int, ...]:
        """The first stage of each segment: 0, then one after the end before."""
        return (0, *(end + 1 for end in self.ends[:-1]))

    @property
    def spans(self) -> tuple[int, ...]:
        """Stages of each segment."""
        return tuple(e - s + 1 for s, e in zip(self.starts, self.ends, strict=True))

    @property
    def thinning(self) -> tuple[Fraction, ...]:
        """p_k for k = 2, 3, ...: the share of those in segment k - 1 that reach segment k."""
        return tuple(b / a for a, b in pairwise(self.rates))

    @property
    def costs(self) -> tuple[Fraction, ...]:
        """S_k: tokens held by one prompt at each stage of segment k."""
        return tuple(Fraction(cost, 2) for cost in double_costs(self.input_length, self.ends))

    @property
    def boundary_tokens(self) -> tuple[int, ...]:
        """l + l'_(k-1) for k = 2, 3, ...: tokens held by a prompt that waits before segment k."""
        return tuple(self.input_length + end for end in self.ends[:-1])


def double_costs(input_length: int, ends: Iterable[int]) -> list[int]:
    """2 S_k of each segment: whole numbers."""
    stops = tuple(ends)
    starts = (0, *(end + 1 for end in stops[:-1]))
    return [
        (end - start + 1) * (2 * input_length + start + end)
        for start, end in zip(starts, stops, strict=True)
    ]
