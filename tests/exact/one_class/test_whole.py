"""Whole requests: the reference, its cycles, and where it parts from masses."""

from fractions import Fraction
from itertools import islice

import pytest
from hypothesis import given

from fluidkv.errors import InputError
from fluidkv.exact.mass import iterates, memory_used
from fluidkv.exact.one_class.whole import iterate_whole, whole_cycle, whole_steps
from tests.small_systems import one_class
from tests.strategies import whole_states

CROWDED = one_class(20, 20, 1000)
EMPTY = (0,) * 20


@given(whole_states())
def test_an_iteration_moves_as_few_whole_requests_as_it_can(system_and_state):
    system, state = system_and_state
    only = system.workload.classes[0]
    weights = [only.input_length + 1 + j for j in range(only.decode_length)]
    step = iterate_whole(system, state)
    executed = (0, *state[:-1])
    kept = [x - e for x, e in zip(executed, step.evicted, strict=True)]
    used = sum(w * x for w, x in zip(weights, kept, strict=True))
    assert min(kept) >= 0
    assert used <= system.capacity
    # One request fewer evicted would not fit; the least progressed go first.
    last = max((j for j, e in enumerate(step.evicted) if e), default=None)
    if last is not None:
        assert used + weights[last] > system.capacity
        assert not any(kept[:last])
    # One more admitted would not fit.
    assert step.state == (step.admitted, *kept[1:])
    free = system.capacity - memory_used(system, [step.state])
    assert 0 <= free < weights[0]
    assert step.completed == state[-1]


@given(whole_states())
def test_every_start_repeats_itself(system_and_state):
    system, state = system_and_state
    found = whole_cycle(system, state, iterations=5000)
    assert found is not None
    assert iterate_whole(system, found.states[-1]).state == found.states[0]
    assert len(set(found.states)) == found.period
    # Over one period what is admitted leaves again.
    turn = [iterate_whole(system, s) for s in found.states]
    assert sum(s.admitted for s in turn) == found.completed + found.evicted


def test_an_empty_start_completes_five_quarters_an_iteration():
    # The engine runs all 4,000 iterations, in tests/fluid/test_whole.py.
    steps = list(islice(whole_steps(CROWDED, EMPTY), 200))
    assert sum(s.completed for s in steps[-100:]) == 125
    found = whole_cycle(CROWDED, EMPTY, iterations=100)
    assert found is not None
    # It is there after one iteration: 25 requests of 40 tokens complete every 20 iterations.
    assert (found.entered, found.period, found.throughput) == (1, 20, Fraction(5, 4))


def test_whole_requests_part_from_masses_at_the_first_admission():
    masses = next(islice(iterates(CROWDED, [list(EMPTY)]), 1, None))[0]
    whole = iterate_whole(CROWDED, EMPTY).state
    assert (masses[0], whole[0]) == (Fraction(1000, 21), 47)


def test_an_empty_position_revives_with_whole_requests():
    # Lemma A.3 is about masses. Of 28 requests at 35 tokens, one is evicted for the next stage,
    # and 1000 - 27 * 36 = 28 tokens are free: room for a new request of 21.
    assert iterate_whole(CROWDED, (0,) * 14 + (28,) + (0,) * 5).state[0] == 1


def test_the_long_run_may_lie_below_the_worst_case_of_masses():
    # l0 = 10, l1 = 8, M = 1000: 55 of the 55.6 requests that masses complete in a turn.
    found = whole_cycle(one_class(10, 8, 1000), (0,) * 8, iterations=1000)
    assert found is not None
    assert found.throughput == Fraction(55, 8) < Fraction(1000, 8 * 18)


def test_the_fixed_point_is_kept_where_it_is_whole():
    found = whole_cycle(one_class(2, 3, 24), (2, 2, 2), iterations=5)
    assert found is not None
    assert (found.entered, found.period, found.throughput, found.evicted) == (0, 1, 2, 0)


def test_no_return_within_the_iterations_is_no_cycle():
    assert whole_cycle(one_class(10, 8, 1000), (8,) * 8, iterations=5) is None


@pytest.mark.parametrize(
    ("state", "iterations", "argument"),
    [
        ((1, 1), 5, "state"),
        ((1, 1, Fraction(1, 2)), 5, "state"),
        ((1, 1, True), 5, "state"),
        ((1, 1, -1), 5, "state"),
        ((9, 0, 0), 5, "state"),
        ((1, 1, 1), 0, "iterations"),
    ],
)
def test_bad_input_is_named(state, iterations, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        whole_cycle(one_class(2, 3, 24), state, iterations=iterations)
