"""Congestion, Proposition 8 (throughput by gap vector), Remark 1 and Example 7.

No counterexample is known: (25), both endpoints and who attains them hold as printed. The number of
cycles at a level is that of necklaces, so from level 2 to l1-2 there is never only one.
"""

from fractions import Fraction
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.mass import iterate, memory_used
from fluidkv.exact.one_class.cycles import (
    as_evenly_spaced_cycle,
    balanced_cycle,
    contiguous_cycle,
    evenly_spaced_cycle,
)
from fluidkv.exact.one_class.gaps import canonical_gaps, count_gap_vectors, gap_vectors
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import systems, systems_with_gaps, workloads

one_class = systems(workloads=workloads(max_classes=1, decode_lengths=st.integers(1, 9)))


@st.composite
def systems_with_live(draw):
    system = draw(one_class)
    return system, draw(st.integers(1, system.workload.longest_decode))


@given(systems_with_gaps())
def test_masses_in_proportion_to_gaps_close_with_throughput_25(system_and_gaps):
    """From the block-end alone: gaps as masses, scaled to memory, walked in the literal model."""
    system, gaps = system_and_gaps
    l0, l1 = system.workload.classes[0].input_length, sum(gaps)
    start = [Fraction(0)] * l1
    for gap, reached in zip(gaps, accumulate(gaps), strict=True):
        start[reached - 1] = Fraction(gap)
    c = system.capacity / memory_used(system, [start])
    assert c == system.capacity / (l0 * l1 + Fraction(l1 * l1 + sum(g * g for g in gaps), 2))
    state = start = [c * x for x in start]
    completed = Fraction(0)
    for _ in range(l1):
        step = iterate(system, [state])
        state, completed = step.state[0], completed + step.completed[0]
    assert state == start
    assert completed == c * l1
    assert balanced_cycle(system, gaps).throughput == c
    assert tuple(start) in balanced_cycle(system, gaps).states


@given(systems_with_live())
def test_the_least_is_at_the_contiguous_gaps_alone(system_and_live):
    system, m = system_and_live
    l1 = system.workload.longest_decode
    rates = {g: balanced_cycle(system, g).throughput for g in gap_vectors(l1, m)}
    least = contiguous_cycle(system, l1 - m)
    assert [g for g, rate in rates.items() if rate == min(rates.values())] == [least.gaps]
    assert rates[least.gaps] == least.throughput


@given(systems_with_live())
def test_the_most_is_at_the_most_even_gaps_in_any_order_alone(system_and_live):
    system, m = system_and_live
    l1 = system.workload.longest_decode
    rates = {g: balanced_cycle(system, g).throughput for g in gap_vectors(l1, m)}
    best = {g for g, rate in rates.items() if rate == max(rates.values())}
    assert best == {g for g in rates if max(g) - min(g) <= 1}
    assert rates[as_evenly_spaced_cycle(system, m).gaps] == max(rates.values())
    if l1 % m == 0:
        assert best == {canonical_gaps(evenly_spaced_cycle(system, m).gaps)}


@given(st.integers(4, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(2, n - 2))))
def test_levels_between_2_and_l1_less_2_have_several_throughputs(length_and_level):
    # Remark 1.
    l1, i = length_and_level
    assert count_gap_vectors(l1, l1 - i) > 1
    system = System(Workload((RequestClass(3, l1),)), Fraction(4 * l1))
    assert (
        contiguous_cycle(system, i).throughput < as_evenly_spaced_cycle(system, l1 - i).throughput
    )


@given(st.integers(1, 40))
def test_other_levels_have_one_cycle(l1):
    assert {count_gap_vectors(l1, l1 - i) for i in {0, min(1, l1 - 1), l1 - 1}} == {1}


def test_a_higher_level_can_carry_more():
    # Example 7.
    system = System(Workload((RequestClass(2, 10),)), Fraction(13))
    lower, higher = contiguous_cycle(system, 4), evenly_spaced_cycle(system, 5)
    assert (lower.level, higher.level) == (4, 5)
    assert (lower.throughput, higher.throughput) == (Fraction(13, 85), Fraction(13, 80))
    assert [j for j, x in enumerate(lower.states[0]) if x > 0] == [0, 1, 2, 3, 4, 5]
    assert [j for j, x in enumerate(higher.block_ends[0]) if x > 0] == [1, 3, 5, 7, 9]
