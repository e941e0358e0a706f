"""Relative positions: the stages seen from a belt that moves with the requests.

Labels P_0 ... P_{l1-1} sit on a circle. At iteration n, position r is at stage (r + n) mod l1, so
stage j holds position (j - n) mod l1. A cohort that completes hands its position to the requests
admitted in its place. A position without mass is *dead*; it never revives (Lemma A.3).

Live positions are listed as their stages increase, youngest first: at stages s_0 < ... < s_{m-1}
they have predecessor gaps g_h = s_h - s_{h-1}, and g_0 = s_0 - s_{m-1} + l1 closes the circle. At
a block-end, where s_{m-1} = l1 - 1, this is the order of the paper and s_h = S_h - 1.

Everything here takes one state of one class, masses by stage: rationals, or floats whose exact
zeros say that a stage is empty.

Source: Congestion, Appendix A.1, equations (14), (15), (17) and (19).
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate

from fluidkv.exact.one_class.gaps import Gaps

Number = Fraction | float
State = Sequence[Number]
"""Mass x_j at stage j = 0 ... l1 - 1 of one class, requests."""


def position_at(stage: int, iteration: int, decode_length: int) -> int:
    """r, the label that stage j holds at iteration n.

    Examples:
        >>> from fluidkv.exact.one_class.positions import position_at
        >>> [position_at(stage, iteration=1, decode_length=3) for stage in range(3)]
        [2, 0, 1]
    """
    return (stage - iteration) % decode_length


def live_stages(state: State) -> tuple[int, ...]:
    """Stages with mass, in increasing order."""
    return tuple(j for j, x in enumerate(state) if x)


def live_positions(state: State, iteration: int) -> tuple[int, ...]:
    """L_n of equation (14): the labels that carry mass, in increasing order.

    Examples:
        >>> from fluidkv.exact.one_class.positions import live_positions
        >>> live_positions([4.0, 0.0, 2.0], iteration=0)
        (0, 2)
        >>> live_positions([0.0, 6.0, 0.0], iteration=1)
        (0,)
    """
    return tuple(sorted(position_at(j, iteration, len(state)) for j in live_stages(state)))


def predecessor_gaps(state: State) -> Gaps:
    """g_0 ... g_{m-1} of the live positions, youngest first; they sum to l1.

    A state without any mass has none.
    """
    stages = live_stages(state)
    if not stages:
        return ()
    before = (stages[-1] - len(state), *stages[:-1])
    return tuple(s - b for s, b in zip(stages, before, strict=True))


def normalized_masses(state: State) -> tuple[Number, ...]:
    """u_h = mass over predecessor gap, youngest first (equation (17)).

    Between block-ends the youngest position is still being evicted, and its u_0 is above what it
    will be at the next block-end.
    """
    masses = [x for x in state if x]
    return tuple(x / g for x, g in zip(masses, predecessor_gaps(state), strict=True))


def is_block_end(state: State) -> bool:
    """Whether a live position is in the last stage, about to complete."""
    return bool(state[-1])


def spread(values: Sequence[Number]) -> Number:
    """Largest minus smallest: G of a state (equation (5)), G^sc of normalized masses (19)."""
    return max(values) - min(values)


def mass_per_gap(gaps: Gaps, input_length: int, capacity: Number) -> Number:
    """c, the normalized mass of the balanced cycle with these gaps, by equation (15).

    At a block-end it holds c g_h at stage S_h - 1, where a request takes l0 + S_h tokens; memory
    is full. The value is the same for every rotation of the gaps.
    """
    weighted = sum(g * (input_length + s) for g, s in zip(gaps, accumulate(gaps), strict=True))
    return capacity / weighted


def is_on_cycle(state: State, input_length: int, capacity: Number) -> bool:
    """Whether a state on the memory boundary is exactly on the balanced cycle of its gaps.

    There every live position but the youngest holds c times its gap; what is left of memory then
    is the youngest's. A single live position is always on the maximal-eviction cycle.
    """
    return all(x == balanced for x, balanced in _older(state, input_length, capacity))


def distance_from_cycle(state: State, input_length: int, capacity: Number) -> Number:
    """The largest relative deviation from what `is_on_cycle` asks for; 0 if it holds.

    Examples:
        >>> from fluidkv.exact.one_class.positions import distance_from_cycle
        >>> states = [2.0, 2.0, 2.0], [2.0, 2.5, 1.6]
        >>> [distance_from_cycle(state, input_length=2, capacity=24) for state in states]
        [0.0, 0.25]
    """
    deviations = (abs(x / balanced - 1) for x, balanced in _older(state, input_length, capacity))
    return max(deviations, default=0)


def _older(state: State, input_length: int, capacity: Number) -> Iterator[tuple[Number, Number]]:
    """Mass of each live position but the youngest, and what the balanced cycle has there."""
    gaps, masses = predecessor_gaps(state), [x for x in state if x]
    if len(gaps) > 1:
        c = mass_per_gap(gaps, input_length, capacity)
        yield from ((x, c * g) for x, g in zip(masses[1:], gaps[1:], strict=True))
