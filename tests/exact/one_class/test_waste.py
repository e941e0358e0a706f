"""The waste decomposition adds up exactly, along any trajectory."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.mass import iterate
from fluidkv.exact.one_class.cycles import balanced_cycle
from fluidkv.exact.one_class.trajectory import trajectory
from fluidkv.exact.one_class.waste import waste, waste_by_iteration
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import homogeneous_systems, systems_with_states

one_class = systems_with_states(systems=homogeneous_systems)
SMALL = System(Workload((RequestClass(2, 3),)), Fraction(24))


@given(one_class, st.integers(1, 25))
def test_every_iteration_and_every_stretch_adds_up(system_and_state, iterations):
    system, state = system_and_state
    states = trajectory(system, state[0], iterations=iterations)
    rows = waste_by_iteration(states, system)
    assert all(row.balance == 0 for row in rows)
    account = waste(states, system)
    assert account.balance == 0
    assert account.used == iterations * system.capacity


@given(one_class)
def test_evicted_and_completed_are_those_of_the_literal_model(system_and_state):
    system, state = system_and_state
    step = iterate(system, state)
    (row,) = waste_by_iteration([state[0], step.state[0]], system)
    assert row.completed_requests == step.completed[0]
    assert row.evicted_requests == sum(step.evicted[0])
    l0 = system.workload.classes[0].input_length
    ages = [sum(l0 + 1 + i for i in range(j)) for j in range(len(state[0]))]
    assert row.evicted == sum(a * e for a, e in zip(ages, step.evicted[0], strict=True))


def test_one_round_of_the_worst_cycle_by_hand():
    # (8,0,0): 24 tokens. 2 of 8 evicted at stage 1 after 3 tokens each, 6/5 of 6 at stage 2 after
    # 3 + 4; the 24/5 that complete took 3 + 4 + 5 each.
    states = trajectory(SMALL, (8, 0, 0), iterations=3)
    account = waste(states, SMALL)
    assert account.used == 72
    assert account.evicted == 2 * 3 + Fraction(6, 5) * 7
    assert account.completed == Fraction(24, 5) * 12
    assert account.in_flight_before == account.in_flight_after == 0
    assert account.wasted_share == Fraction(1, 5)


@given(st.integers(1, 5), st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_equation_27_on_balanced_cycles(l0, gaps):
    l1 = sum(gaps)
    system = System(Workload((RequestClass(l0, l1),)), Fraction(7 * (l0 + l1), 3))
    cycle = balanced_cycle(system, gaps)
    account = waste([*cycle.states, cycle.states[0]], system)
    lifetime = Fraction(l1 * (2 * l0 + l1 + 1), 2)
    p = cycle.period
    assert p * system.capacity == p * cycle.throughput * lifetime + account.evicted
    assert (account.evicted > 0) == (len(gaps) < l1)
