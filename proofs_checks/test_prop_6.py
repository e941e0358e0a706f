"""Congestion, Proposition 6 (contiguous cycles), with the states of its proof.

Throughput (22) and the strict decrease (23) hold as printed. "A contiguous block at every
iteration" holds in cyclic order, as the proof says, and not for stage indices: for gaps (2, 1) the
occupied stages are 0 and 2 while the block passes from the last stage to the first.
"""

from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.mass import iterate
from fluidkv.exact.one_class.cycles import contiguous_cycle, fixed_point, maximal_eviction_cycle
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import systems, workloads

one_class = systems(workloads=workloads(max_classes=1, decode_lengths=st.integers(1, 10)))


def weights(system):
    only = system.workload.classes[0]
    return [only.input_length + 1 + j for j in range(only.decode_length)]


def c(system, i):
    """Equation (22)."""
    w = weights(system)
    return system.capacity / ((i + 1) * w[i] + sum(w[i + 1 :]))


def printed_states(system, i):
    """X_0 ... X_{l1-1} of the proof; entries that the proof repeats are one state's."""
    w, b = weights(system), c(system, i)
    l1, k = len(w), len(w) - i
    states = []
    for r in range(l1):
        state = [Fraction(0)] * l1
        if r < i:
            for j in range(r + 1, r + k):
                state[j] = b
            state[r] = (system.capacity - b * sum(w[r + 1 : r + k])) / w[r]
        else:
            for j in [*range(r - i), *range(r + 1, l1)]:
                state[j] = b
            state[r] = (i + 1) * b
        states.append(tuple(state))
    return states


@st.composite
def systems_with_levels(draw):
    system = draw(one_class)
    return system, draw(st.integers(0, system.workload.longest_decode - 1))


@given(systems_with_levels())
def test_the_states_of_the_proof_are_a_cycle_with_throughput_22(system_and_level):
    system, i = system_and_level
    states = printed_states(system, i)
    for state, following in zip(states, [*states[1:], states[0]], strict=True):
        assert iterate(system, [state]).state == [list(following)]
    assert sum(state[-1] for state in states) == c(system, i) * len(states)
    assert all(state.count(0) == i for state in states)
    cycle = contiguous_cycle(system, i)
    assert (list(cycle.states), cycle.throughput) == (states[: cycle.period], c(system, i))
    assert cycle.period == (len(states) if i > 0 else 1)


@given(one_class)
def test_throughput_decreases_with_the_level_from_the_fixed_point_to_the_worst_case(system):
    l1 = system.workload.longest_decode
    rates = [c(system, i) for i in range(l1)]
    assert all(a > b for a, b in pairwise(rates))
    # The proof's step: the denominator of (22) grows by i + 1.
    for i in range(l1 - 1):
        assert system.capacity / rates[i + 1] - system.capacity / rates[i] == i + 1
    assert rates[0] == fixed_point(system).throughput
    assert rates[-1] == maximal_eviction_cycle(system).throughput


@given(systems_with_levels())
def test_occupied_stages_are_one_block_on_the_circle(system_and_level):
    system, i = system_and_level
    for state in contiguous_cycle(system, i).states:
        starts = sum(x > 0 and state[j - 1] == 0 for j, x in enumerate(state))  # j - 1 wraps
        assert starts == (1 if i > 0 else 0)


def test_occupied_stages_are_not_always_one_block_of_indices():
    small = System(Workload((RequestClass(1, 3),)), Fraction(5))
    occupied = [[j for j, x in enumerate(s) if x > 0] for s in contiguous_cycle(small, 1).states]
    assert [0, 2] in occupied
