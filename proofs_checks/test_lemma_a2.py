"""Congestion, Lemma A.2: an unequal start evicts in finite time, and what the first overflow does.

Read literally, three of the lemma's sentences break; each counterexample is a fixed case below.

- "The first memory overflow ... creates the first eviction-induced support loss": an eviction may
  only trim the youngest batch where a stage was empty from the start, and a support may be lost
  before any overflow, where a completion releases exactly what the others need to grow.
- "moves the trajectory to the next lower live-support level": one eviction can empty the youngest
  batch on top of the position that completes, so that two supports go at once.

What holds, for every start with all stages occupied: the first support is lost in the first
iteration that admits nothing, no eviction comes before it, and it comes in finite time.
"""

from fractions import Fraction
from itertools import pairwise

from hypothesis import assume, example, given

from fluidkv.exact.one_class.cascade import cascade
from fluidkv.exact.one_class.trajectory import projected_start, trajectory
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import homogeneous_systems, systems_with_states

one_class = systems_with_states(systems=homogeneous_systems)


def one_class_system(l0: int, l1: int, capacity: int) -> System:
    return System(Workload((RequestClass(l0, l1),)), Fraction(capacity))


NEAR = (one_class_system(1, 3, 9), [[Fraction(1), Fraction(51, 50), Fraction(197, 200)]])
FULL = (one_class_system(1, 2, 9), [[Fraction(3), Fraction(1)]])

# Five times what the longest of 5,000 random starts of this size took to settle (81).
HORIZON = 400


def fallen(system, state):
    states = trajectory(system, state[0], iterations=HORIZON, after_settling=len(state[0]))
    return cascade(states, system)


@given(one_class)
@example(NEAR)
def test_an_unequal_start_evicts_in_finite_time(system_and_state):
    system, state = system_and_state
    assume(len(state[0]) > 1)
    found = fallen(system, state)
    if max(state[0]) > min(state[0]):
        assert found.first_eviction is not None
    else:
        assert found.first_eviction is None


@given(one_class)
@example(NEAR)
@example(FULL)
def test_full_support_lasts_until_an_iteration_admits_nothing(system_and_state):
    system, state = system_and_state
    # Empty stages are filled with the mean, and the state scaled back to capacity.
    mean = Fraction(sum(state[0])) / len(state[0])
    full = projected_start(system, [Fraction(x or mean) for x in state[0]])
    if max(full) == min(full):
        return
    state = [full]
    found = fallen(system, state)
    first = found.support_losses[0]
    admitted = [x[0] for x in found.states]
    assert all(admitted[n] > 0 for n in range(1, first.iteration))
    assert admitted[first.iteration] == 0
    assert found.first_eviction is not None
    assert found.first_eviction >= first.iteration
    assert first.evicted == (found.first_eviction == first.iteration)


@given(one_class)
def test_the_maximum_grows_when_it_reaches_the_last_stage(system_and_state):
    # Summary A.2: by at least G^0 / (l0 + 1), as long as nothing has been evicted.
    system, state = system_and_state
    states = trajectory(system, state[0], iterations=20)
    found = cascade(states, system)
    first = found.first_eviction or len(states)
    l0 = system.workload.classes[0].input_length
    least = (max(state[0]) - min(state[0])) / (l0 + 1)
    for before, after in pairwise(states[:first]):
        if before[-1] == max(before):
            assert max(after) >= max(before) + least


def test_counterexample_an_overflow_without_a_support_loss():
    found = fallen(one_class_system(1, 2, 6), [[Fraction(0), Fraction(2)]])
    assert found.first_eviction == 2
    assert found.support_losses == ()


def test_counterexample_a_support_loss_without_an_overflow():
    found = fallen(*FULL)
    (loss,) = found.support_losses
    assert (loss.iteration, loss.evicted, found.first_eviction) == (1, False, 3)


def test_counterexample_two_supports_at_once_close_to_the_fixed_point():
    first = fallen(*NEAR).support_losses[0]
    assert (first.iteration, first.empty_stages, first.evicted) == (13, 2, True)
    assert len(first.positions) == 2
