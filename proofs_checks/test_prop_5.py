"""Congestion, Proposition 5 (two-stage cycles at level l1-2), with the states of its proof.

Holds for l1 >= 3. At l1 = 2 both orbits are the fixed point, whose period is 1, so that neither is
a limit cycle of Definition 2 there, nor has the adjacent one the period l1 that is printed.
"""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.mass import iterate
from fluidkv.exact.one_class.cycles import adjacent_cycle, fixed_point, opposite_cycle
from tests.strategies import systems, workloads


def one_class(decode_lengths):
    return systems(workloads=workloads(max_classes=1, decode_lengths=decode_lengths))


def lengths(system):
    only = system.workload.classes[0]
    return only.input_length, only.decode_length


def walks(system, states):
    following = [*states[1:], states[0]]
    return all(
        iterate(system, [a]).state == [list(b)] for a, b in zip(states, following, strict=True)
    )


def printed_adjacent(system):
    """The states X_r of the proof."""
    l0, l1 = lengths(system)
    w = [l0 + 1 + j for j in range(l1)]
    b = system.capacity / (w[-1] ** 2 - w[0] * w[l1 - 2])
    states = []
    for r in range(l1 - 1):
        state = [Fraction(0)] * l1
        state[r], state[r + 1] = (system.capacity - w[r + 1] * b) / w[r], b
        states.append(tuple(state))
    last = [b] + [Fraction(0)] * (l1 - 1)
    last[-1] += (l1 - 1) * b
    return b, [*states, tuple(last)]


def printed_opposite(system):
    """The states Y_r of the proof."""
    l0, l1 = lengths(system)
    w, d = [l0 + 1 + j for j in range(l1)], l1 // 2
    b = system.capacity / (w[d - 1] + w[-1])
    states = []
    for r in range(d):
        state = [Fraction(0)] * l1
        state[r], state[r + d] = (system.capacity - w[r + d] * b) / w[r], b
        states.append(tuple(state))
    return b / d, states


@given(one_class(st.integers(2, 10)))
def test_adjacent_orbit_closes_with_throughput_20(system):
    rate, states = printed_adjacent(system)
    assert walks(system, states)
    assert sum(state[-1] for state in states) == rate * len(states)
    cycle = adjacent_cycle(system)
    assert cycle.throughput == rate
    assert list(cycle.states) == states[: cycle.period]


@given(one_class(st.integers(3, 10)))
def test_adjacent_orbit_is_a_limit_cycle_of_period_l1(system):
    _, states = printed_adjacent(system)
    assert len(set(states)) == len(states) == lengths(system)[1]
    assert all(sum(x > 0 for x in state) == 2 for state in states)


@given(one_class(st.integers(1, 5).map(lambda d: 2 * d)))
def test_opposite_orbit_closes_with_throughput_21_and_period_d(system):
    rate, states = printed_opposite(system)
    assert walks(system, states)
    assert len(set(states)) == len(states) == lengths(system)[1] // 2
    assert all(sum(x > 0 for x in state) == 2 for state in states)
    cycle = opposite_cycle(system)
    assert (cycle.throughput, list(cycle.states)) == (rate, states)


@given(one_class(st.just(2)))
def test_for_two_stages_both_orbits_are_the_fixed_point(system):
    assert adjacent_cycle(system) == opposite_cycle(system) == fixed_point(system)
    assert fixed_point(system).period == 1
