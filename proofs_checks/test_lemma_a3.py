"""Congestion, Lemma A.3: a relative position that is empty stays empty; and equation (14).

Read for any state on the memory boundary and any decode length. No counterexample is known; with
l1 = 1 there is nothing to say, as no state on the boundary has an empty stage. Off the boundary it
fails at once: free memory is filled whatever position comes round.
"""

from fractions import Fraction
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from fluidkv.exact.mass import iterate, memory_used
from fluidkv.exact.one_class.positions import live_positions
from fluidkv.exact.one_class.trajectory import trajectory
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import homogeneous_systems, systems_with_states

one_class = systems_with_states(systems=homogeneous_systems)
TWO = System(Workload((RequestClass(1, 2),)), Fraction(9))


@given(one_class)
@example((TWO, [[Fraction(9, 2), Fraction(0)]]))
@example((TWO, [[Fraction(0), Fraction(3)]]))
def test_an_empty_stage_shifts_to_an_empty_stage(system_and_state):
    system, state = system_and_state
    after = iterate(system, state).state[0]
    for j, x in enumerate(state[0]):
        if x == 0:
            assert after[(j + 1) % len(after)] == 0


@given(one_class)
def test_memory_overflows_by_all_masses_when_a_dead_position_completes(system_and_state):
    system, state = system_and_state
    if state[0][-1] == 0:
        executed = iterate(system, state).executed
        assert memory_used(system, executed) == system.capacity + sum(state[0])


@given(one_class, st.integers(1, 30))
def test_the_live_set_only_shrinks(system_and_state, iterations):
    system, state = system_and_state
    states = trajectory(system, state[0], iterations=iterations)
    live = [set(live_positions(x, n)) for n, x in enumerate(states)]
    assert all(after <= before for before, after in pairwise(live))


def test_below_the_boundary_a_dead_position_can_revive():
    # One token short of 9 is enough.
    after = iterate(TWO, [[Fraction(1), Fraction(0)]]).state[0]
    assert after[0] > 0
