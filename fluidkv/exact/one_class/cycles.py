"""Balanced cycles of one class of requests: every equilibrium, state by state, in exact rationals.

A balanced cycle is given by its gap vector g. At a block-end its live positions stand at the stages
S_h - 1, S_h = g_0 + ... + g_h, with masses c g_h in proportion to their gaps; between block-ends
the position at the lowest stage holds whatever fills memory, and eviction trims it as all requests
grow. c is the throughput:

    c = M / (l0 l1 + (l1^2 + sum of g_h^2) / 2).

Gaps of 1 only are the fixed point, one gap of l1 is the maximal-eviction cycle. Rotating the gaps
gives the same cycle; records carry the canonical rotation.

Source: Congestion, section 3.2, Appendix A.1 and Propositions 5 to 8.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from fluidkv.errors import InputError
from fluidkv.exact.one_class.gaps import (
    Gaps,
    canonical_gaps,
    checked_gaps,
    cycle_name,
    rotational_order,
    whole_number,
)
from fluidkv.record import Record
from fluidkv.workload import RequestClass, System

__all__ = [
    "Cycle",
    "State",
    "adjacent_cycle",
    "as_evenly_spaced_cycle",
    "as_evenly_spaced_gaps",
    "balanced_cycle",
    "canonical_gaps",
    "contiguous_cycle",
    "contiguous_gaps",
    "cycle_name",
    "evenly_spaced_cycle",
    "fixed_point",
    "maximal_eviction_cycle",
    "only_class",
    "opposite_cycle",
    "throughput",
]

State = tuple[Fraction, ...]
"""x_0 ... x_{l1-1}: mass by stage, requests."""


@dataclass(frozen=True)
class Cycle(Record):
    """An equilibrium of a system with one class of requests.

    Fields:
        system: what it is an equilibrium of.
        gaps: predecessor gaps in canonical rotation.
        throughput: completions an iteration over one period, equation (25).
        states: X at each iteration of one period. The first one has just admitted: the position
            with the first gap is at stage 0. The state g_0 - 1 iterations later is the block-end
            that `gaps` describes.

    Examples:
        >>> from fluidkv.exact.one_class.cycles import balanced_cycle
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> cycle = balanced_cycle(system, (2, 1))
        >>> cycle.name, cycle.period, cycle.level, str(cycle.throughput)
        ('balanced cycle (2,1)', 3, 1, '24/13')
    """

    system: System
    gaps: Gaps
    throughput: Fraction
    states: tuple[State, ...]

    @property
    def name(self) -> str:
        """As `cycle_name`."""
        return cycle_name(self.gaps)

    @property
    def live(self) -> int:
        """m: occupied stages at each iteration."""
        return len(self.gaps)

    @property
    def level(self) -> int:
        """Eviction level l1 - m: empty stages at each iteration."""
        return sum(self.gaps) - len(self.gaps)

    @property
    def period(self) -> int:
        """Smallest number of iterations after which a state returns.

        l1 over the number of rotations that leave the gaps as they are.
        """
        return len(self.states)

    @property
    def block_ends(self) -> tuple[State, ...]:
        """The states of one period in which the last stage is occupied."""
        return tuple(state for state in self.states if state[-1] > 0)

    @property
    def share_of_best(self) -> Fraction:
        """Throughput over that of the fixed point."""
        return self.throughput / throughput(self.system, (1,) * sum(self.gaps))


def balanced_cycle(system: System, gaps: Sequence[int]) -> Cycle:
    """The balanced cycle with these predecessor gaps, in any rotation.

    Built from closed forms; `verify_cycle` runs the map on it.

    Args:
        system: one class of requests.
        gaps: positive integers with sum l1.

    Raises:
        InputError: more than one class, or gaps that are not positive integers with sum l1.

    Source: Congestion, Proposition 8; states from equation (15) and the proof of Proposition A.4.

    Examples:
        >>> from fluidkv.exact.one_class.cycles import balanced_cycle
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> cycle = balanced_cycle(system, (2, 1))
        >>> [[str(x) for x in state] for state in cycle.block_ends]
        [['0', '48/13', '24/13'], ['24/13', '0', '48/13']]
    """
    l1 = only_class(system).decode_length
    canonical = canonical_gaps(checked_gaps(gaps, l1))
    return _cycle(system, canonical)


def throughput(system: System, gaps: Sequence[int]) -> Fraction:
    """Completions an iteration of the balanced cycle with these gaps.

    Raises:
        InputError: as `balanced_cycle`.

    Source: Congestion, equation (25).

    Examples:
        >>> from fluidkv.exact.one_class.cycles import throughput
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> [str(throughput(system, gaps)) for gaps in [(1, 1, 1), (2, 1), (3,)]]
        ['2', '24/13', '8/5']
    """
    only = only_class(system)
    checked = checked_gaps(gaps, only.decode_length)
    return 2 * system.capacity / _twice_memory(only.input_length, checked)


def fixed_point(system: System) -> Cycle:
    """All stages at x*, no eviction: gaps of 1 (Congestion, equation (4)).

    Examples:
        >>> from fluidkv.exact.one_class.cycles import fixed_point
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> [str(x) for x in fixed_point(system).states[0]], str(fixed_point(system).throughput)
        (['2', '2', '2'], '2')
    """
    return balanced_cycle(system, (1,) * only_class(system).decode_length)


def maximal_eviction_cycle(system: System) -> Cycle:
    """One live position that holds all memory: the gap l1 (Congestion, section 3.2).

    Examples:
        >>> from fluidkv.exact.one_class.cycles import maximal_eviction_cycle
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> cycle = maximal_eviction_cycle(system)
        >>> [[str(x) for x in state] for state in cycle.states], str(cycle.throughput)
        ([['8', '0', '0'], ['0', '6', '0'], ['0', '0', '24/5']], '8/5')
    """
    return balanced_cycle(system, (only_class(system).decode_length,))


def contiguous_cycle(system: System, level: int) -> Cycle:
    """Occupied stages in one block, cyclically: the least throughput of its level.

    Args:
        system: one class of requests.
        level: i, empty stages, 0 ... l1 - 1.

    Raises:
        InputError: more than one class, or a level out of range.

    Source: Congestion, Proposition 6.

    Examples:
        >>> from fluidkv.exact.one_class.cycles import contiguous_cycle
        >>> system = fk.System(fk.Workload.from_lengths([(2, 5)]), capacity=40)
        >>> cycle = contiguous_cycle(system, level=2)
        >>> cycle.gaps, round(float(cycle.share_of_best), 3)
        ((3, 1, 1), 0.893)
    """
    l1 = only_class(system).decode_length
    return balanced_cycle(system, contiguous_gaps(l1, l1 - checked_level(level, l1)))


def evenly_spaced_cycle(system: System, live: int) -> Cycle:
    """All gaps equal: the most throughput of its level.

    Args:
        system: one class of requests.
        live: k, occupied stages, a divisor of l1.

    Raises:
        InputError: more than one class, or a number that does not divide l1.

    Source: Congestion, Proposition 7.

    Examples:
        >>> from fluidkv.exact.one_class.cycles import evenly_spaced_cycle
        >>> system = fk.System(fk.Workload.from_lengths([(2, 6)]), capacity=24)
        >>> cycle = evenly_spaced_cycle(system, live=3)
        >>> cycle.gaps, cycle.period, str(cycle.throughput)
        ((2, 2, 2), 2, '2/3')
    """
    l1 = only_class(system).decode_length
    count = whole_number(live)
    if count is None or count < 1 or l1 % count:
        raise InputError("live", live, f"a divisor of {l1}, the decode length")
    return balanced_cycle(system, (l1 // count,) * count)


def as_evenly_spaced_cycle(system: System, live: int) -> Cycle:
    """Gaps that differ by at most one: the most throughput of its level.

    Every order of these gaps has the same throughput; this is the one that spreads them best.

    Args:
        system: one class of requests.
        live: m, occupied stages, 1 ... l1.

    Raises:
        InputError: more than one class, or a number out of range.

    Source: Congestion, Proposition 8.

    Examples:
        >>> from fluidkv.exact.one_class.cycles import as_evenly_spaced_cycle
        >>> system = fk.System(fk.Workload.from_lengths([(2, 5)]), capacity=40)
        >>> cycle = as_evenly_spaced_cycle(system, live=3)
        >>> cycle.gaps, cycle.level, round(float(cycle.share_of_best), 3)
        ((2, 2, 1), 2, 0.926)
    """
    l1 = only_class(system).decode_length
    count = whole_number(live)
    if count is None or not 1 <= count <= l1:
        raise InputError("live", live, f"an integer from 1 to {l1}, the decode length")
    return balanced_cycle(system, as_evenly_spaced_gaps(l1, count))


def adjacent_cycle(system: System) -> Cycle:
    """Two occupied stages next to each other (Congestion, Proposition 5, equation (20)).

    Raises:
        InputError: more than one class, or l1 = 1.

    Examples:
        >>> from fluidkv.exact.one_class.cycles import adjacent_cycle
        >>> cycle = adjacent_cycle(fk.System(fk.Workload.from_lengths([(2, 4)]), capacity=24))
        >>> cycle.gaps, cycle.period, str(cycle.throughput)
        ((3, 1), 4, '8/7')
    """
    l1 = only_class(system).decode_length
    if l1 < 2:
        raise InputError("decode_length", l1, "at least 2, for two occupied stages")
    return balanced_cycle(system, (l1 - 1, 1))


def opposite_cycle(system: System) -> Cycle:
    """Two occupied stages half a turn apart (Congestion, Proposition 5, equation (21)).

    Raises:
        InputError: more than one class, or an odd l1.

    Examples:
        >>> from fluidkv.exact.one_class.cycles import opposite_cycle
        >>> cycle = opposite_cycle(fk.System(fk.Workload.from_lengths([(2, 4)]), capacity=24))
        >>> cycle.gaps, cycle.period, str(cycle.throughput)
        ((2, 2), 2, '6/5')
    """
    l1 = only_class(system).decode_length
    if l1 % 2:
        raise InputError("decode_length", l1, "an even number, for two stages half a turn apart")
    return balanced_cycle(system, (l1 // 2, l1 // 2))


def contiguous_gaps(decode_length: int, live: int) -> Gaps:
    """(l1 - m + 1, 1, ..., 1)."""
    return (decode_length - live + 1,) + (1,) * (live - 1)


def as_evenly_spaced_gaps(decode_length: int, live: int) -> Gaps:
    """m gaps with sum l1 that differ by at most one, spread around the circle, canonical.

    Examples:
        >>> from fluidkv.exact.one_class.cycles import as_evenly_spaced_gaps
        >>> as_evenly_spaced_gaps(9, 4)
        (3, 2, 2, 2)
    """
    ends = [h * decode_length // live for h in range(live + 1)]
    return canonical_gaps([ends[h + 1] - ends[h] for h in range(live)])


def only_class(system: System) -> RequestClass:
    """The one class of the system.

    Raises:
        InputError: more than one class.
    """
    classes = system.workload.classes
    if len(classes) != 1:
        raise InputError("system", f"{len(classes)} classes", "one class of requests")
    return classes[0]


def checked_level(level: object, decode_length: int) -> int:
    """An eviction level of a system with this decode length.

    Raises:
        InputError: not an integer from 0 to l1 - 1.
    """
    value = whole_number(level)
    if value is not None and 0 <= value < decode_length:
        return value
    allowed = f"an integer from 0 to {decode_length - 1}, one less than the decode length"
    raise InputError("level", level, allowed)


def _cycle(system: System, gaps: Gaps) -> Cycle:
    """The cycle of gaps that are checked and canonical."""
    l0 = system.workload.classes[0].input_length
    rate = 2 * system.capacity / _twice_memory(l0, gaps)
    return Cycle(system, gaps, rate, tuple(_states(system.capacity, l0, gaps, rate)))


def _states(capacity: Fraction, l0: int, gaps: Gaps, rate: Fraction) -> Iterator[State]:
    """X over one period: block after block, each led by another position.

    When the oldest position completes, it leads the next block. So leaders are met in the order
    0, m-1, m-2, ..., and symmetric gaps come round earlier. The leader holds what fills memory:
    with the others t stages ahead of it, w_r x_r + sum of (w_r + t) c g = M. In integers, with
    c = 2M/D, that is x_r = M (D - 2 w_r sum of g - 2 sum of t g) / (D w_r).
    """
    l1, m, twice = sum(gaps), len(gaps), _twice_memory(l0, gaps)
    numerator, denominator = capacity.numerator, capacity.denominator * twice
    zero = Fraction(0)
    masses = {g: rate * g for g in set(gaps)}
    for turn in range(m // rotational_order(gaps)):
        leader = -turn % m
        first, *others = gaps[leader:] + gaps[:leader]
        ahead = list(accumulate(others))
        fixed = twice - 2 * sum(t * g for t, g in zip(ahead, others, strict=True))
        for r, weight in enumerate(range(l0 + 1, l0 + 1 + first)):
            state = [zero] * l1
            mass = fixed - 2 * weight * (l1 - first)
            state[r] = Fraction(numerator * mass, denominator * weight)
            for t, g in zip(ahead, others, strict=True):
                state[r + t] = masses[g]
            yield tuple(state)


def _twice_memory(l0: int, gaps: Gaps) -> int:
    """2 M / c: memory in tokens of a balanced cycle whose masses are its gaps, doubled."""
    l1 = sum(gaps)
    return 2 * l0 * l1 + l1 * l1 + sum(g * g for g in gaps)
