"""Congestion, Proposition 7 (evenly spaced cycles), with the states of its proof.

Throughput (24), the spacing of stage indices and the increase in k hold as printed. For k = l1 the
orbit is the fixed point, which Definition 2 does not call a limit cycle.
"""

from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.mass import iterate
from fluidkv.exact.one_class.cycles import evenly_spaced_cycle, fixed_point
from tests.strategies import systems, workloads


@st.composite
def systems_with_divisors(draw):
    """One class with l1 = k d, k >= 2."""
    k, d = draw(st.integers(2, 6)), draw(st.integers(1, 4))
    system = draw(systems(workloads=workloads(max_classes=1, decode_lengths=st.just(k * d))))
    return system, k, d


def printed_states(system, k, d):
    """Y_0 ... Y_{d-1} of the proof, and b."""
    l0, l1 = system.workload.classes[0].input_length, k * d
    w = [l0 + 1 + j for j in range(l1)]
    b = system.capacity / sum(w[q * d - 1] for q in range(1, k + 1))
    states = []
    for r in range(d):
        state = [Fraction(0)] * l1
        for q in range(1, k):
            state[r + q * d] = b
        state[r] = (system.capacity - b * sum(w[r + q * d] for q in range(1, k))) / w[r]
        states.append(tuple(state))
    return states, b


@given(systems_with_divisors())
def test_the_states_of_the_proof_are_a_cycle_with_throughput_24(case):
    system, k, d = case
    states, b = printed_states(system, k, d)
    for state, following in zip(states, [*states[1:], states[0]], strict=True):
        assert iterate(system, [state]).state == [list(following)]
    cycle = evenly_spaced_cycle(system, k)
    assert (list(cycle.states), cycle.throughput, cycle.level) == (states, b / d, k * d - k)
    assert len(set(states)) == d == cycle.period
    leading = [state[r] for r, state in enumerate(states)]
    assert all(now > then for now, then in pairwise(leading))


@given(systems_with_divisors())
def test_with_every_stage_occupied_it_is_the_fixed_point(case):
    system, k, d = case
    assert (evenly_spaced_cycle(system, k * d)) == fixed_point(system)
    assert (evenly_spaced_cycle(system, k) == fixed_point(system)) == (d == 1)


@given(systems_with_divisors())
def test_throughput_increases_with_the_number_of_occupied_stages(case):
    system, k, d = case
    divisors = [n for n in range(1, k * d + 1) if (k * d) % n == 0]
    rates = [evenly_spaced_cycle(system, n).throughput for n in divisors]
    assert all(a < b for a, b in pairwise(rates))
