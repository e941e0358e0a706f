"""Relative positions, gaps and normalized masses of a state; the balanced cycle they belong to."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.mass import iterate
from fluidkv.exact.one_class.cycles import balanced_cycle, throughput
from fluidkv.exact.one_class.positions import (
    distance_from_cycle,
    is_block_end,
    is_on_cycle,
    live_positions,
    live_stages,
    mass_per_gap,
    normalized_masses,
    position_at,
    predecessor_gaps,
    spread,
)
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import homogeneous_systems, systems_with_states

one_class = systems_with_states(systems=homogeneous_systems)
gap_vectors = st.lists(st.integers(1, 4), min_size=1, max_size=5)
EXAMPLE_6 = System(Workload((RequestClass(2, 4),)), Fraction(63))


def test_a_position_moves_one_stage_an_iteration_and_returns():
    for n in range(12):
        assert [position_at(j, n, 5) for j in range(5)] == [(j - n) % 5 for j in range(5)]
        assert position_at((3 + n) % 5, n, 5) == 3


@given(one_class)
def test_gaps_close_the_circle(system_and_state):
    state = system_and_state[1][0]
    gaps = predecessor_gaps(state)
    assert sum(gaps) == len(state)
    assert min(gaps) >= 1
    assert len(gaps) == len(live_stages(state)) == len(live_positions(state, 7))


@given(one_class, st.integers(0, 20))
def test_live_positions_rotate_with_the_stages_while_none_is_lost(system_and_state, n):
    system, state = system_and_state
    after = iterate(system, state).state
    before_live, after_live = live_positions(state[0], n), live_positions(after[0], n + 1)
    assert set(after_live) <= set(before_live)  # Lemma A.3


def test_gaps_and_normalized_masses_of_example_6():
    assert predecessor_gaps((0, 0, 9, 3)) == (3, 1)
    assert normalized_masses((Fraction(0), Fraction(0), Fraction(9), Fraction(3))) == (3, 3)
    assert predecessor_gaps((3, 0, 0, 9)) == (1, 3)
    assert is_block_end((3, 0, 0, 9))
    assert not is_block_end((17, 3, 0, 0))
    assert spread((17, 3, 0, 0)) == 17


def test_a_state_without_mass_has_no_gaps():
    assert predecessor_gaps((0, 0)) == ()
    assert normalized_masses((0, 0)) == ()


@given(homogeneous_systems, gap_vectors)
def test_mass_per_gap_is_the_throughput_of_the_cycle_and_rotates(system, gaps):
    only = system.workload.classes[0]
    system = System(
        Workload((RequestClass(only.input_length, sum(gaps)),)), system.capacity + sum(gaps)
    )
    rotations = [tuple(gaps[h:] + gaps[:h]) for h in range(len(gaps))]
    values = {mass_per_gap(g, only.input_length, system.capacity) for g in rotations}
    assert values == {throughput(system, gaps)}


@given(st.integers(1, 5), gap_vectors)
def test_every_state_of_a_balanced_cycle_is_on_it(l0, gaps):
    system = System(Workload((RequestClass(l0, sum(gaps)),)), Fraction(7 * (l0 + sum(gaps)), 3))
    for state in balanced_cycle(system, gaps).states:
        assert is_on_cycle(state, l0, system.capacity)
        assert distance_from_cycle(state, l0, system.capacity) == 0


@given(one_class)
def test_a_state_is_on_its_cycle_exactly_if_it_comes_back_after_one_round(system_and_state):
    """The inequality-free test of `is_on_cycle` against what being on a cycle means."""
    system, state = system_and_state
    l0, l1 = system.workload.classes[0].input_length, len(state[0])
    current = state
    for _ in range(l1):
        current = iterate(system, current).state
    assert is_on_cycle(state[0], l0, system.capacity) == (current == state)


def test_distance_is_relative_to_the_balanced_mass():
    # c = 63 / (2*4 + (16 + 10)/2) = 3; the older position holds 3.3 where 3 balances.
    state = (0, 0, (63 - 6 * Fraction(33, 10)) / 5, Fraction(33, 10))
    assert distance_from_cycle(state, 2, Fraction(63)) == Fraction(1, 10)
    assert not is_on_cycle(state, 2, Fraction(63))


@pytest.mark.parametrize("state", [(0, 0, 9, 3), (17, 3, 0, 0), (0, 12, 3, 0), (3, 0, 0, 9)])
def test_example_6_is_on_its_cycle(state):
    assert is_on_cycle(tuple(map(Fraction, state)), 2, EXAMPLE_6.capacity)
