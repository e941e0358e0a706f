"""Congestion, Theorem A.1: every trajectory ends exactly on a balanced cycle, in finite time.

Exact arithmetic; the cases are a sample. The theorem holds as printed. Its proof moves "to the next
lower live-support level" at each loss, which is not so (see test_lemma_a2), and does not need it.
"""

from fractions import Fraction
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from fluidkv.exact.one_class.cascade import cascade
from fluidkv.exact.one_class.cycles import balanced_cycle
from fluidkv.exact.one_class.trajectory import trajectory
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import homogeneous_systems, systems_with_gaps, systems_with_states

one_class = systems_with_states(systems=homogeneous_systems)
SMALL = System(Workload((RequestClass(2, 3),)), Fraction(24))
CAPTURED = (Fraction(48, 13), Fraction(24, 13), Fraction(72, 65))
HORIZON = 400  # see test_lemma_a2


@given(one_class)
@example((SMALL, [[Fraction(5, 2), Fraction(2), Fraction(17, 10)]]))
@example((SMALL, [list(CAPTURED)]))
def test_every_start_settles_exactly(system_and_state):
    system, state = system_and_state
    l1 = len(state[0])
    states = trajectory(system, state[0], iterations=HORIZON, after_settling=2 * l1)
    found = cascade(states, system)
    assert found.settled is not None
    since = found.settled.iteration
    assert len(states) > since + 2 * l1
    assert states[since] == states[since + l1]
    assert len(found.gaps[since]) == len(found.settled.gaps)


@given(one_class)
def test_support_losses_never_outnumber_the_stages(system_and_state):
    system, state = system_and_state
    states = trajectory(system, state[0], iterations=HORIZON, after_settling=1)
    found = cascade(states, system)
    assert len(found.support_losses) <= len(state[0]) - 1
    assert all(a.empty_stages < b.empty_stages for a, b in pairwise(found.support_losses))


@given(systems_with_gaps(), st.data())
def test_what_is_on_a_balanced_cycle_stays_exactly_on_it(system_and_gaps, data):
    system, gaps = system_and_gaps
    cycle = balanced_cycle(system, gaps)
    start = data.draw(st.sampled_from(cycle.states))
    states = trajectory(system, start, iterations=2 * sum(gaps))
    found = cascade(states, system)
    assert found.settled is not None
    assert found.settled.iteration == 0
    assert found.support_losses == ()
    assert set(states) == set(cycle.states)
