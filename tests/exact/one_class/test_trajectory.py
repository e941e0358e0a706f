"""The exact one-class engine against the literal reference, and what it refuses."""

from fractions import Fraction
from itertools import islice

import pytest
from hypothesis import example, given

from fluidkv.errors import InputError
from fluidkv.exact.mass import iterates, memory_used
from fluidkv.exact.one_class.trajectory import (
    checked_start,
    is_settled,
    projected_start,
    trajectory,
)
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import homogeneous_systems, systems_with_states

SMALL = System(Workload((RequestClass(2, 3),)), Fraction(24))
EXAMPLE_3 = (Fraction(5, 2), Fraction(2), Fraction(17, 10))
FULL = System(Workload((RequestClass(1, 2),)), Fraction(9))
one_class = systems_with_states(systems=homogeneous_systems)


@given(one_class)
@example((SMALL, [list(EXAMPLE_3)]))
@example((FULL, [[Fraction(3), Fraction(1)]]))  # executes to exactly M: admits and evicts nothing
def test_engine_equals_the_literal_model_step_by_step(system_and_state):
    system, state = system_and_state
    literal = [tuple(x[0]) for x in islice(iterates(system, state), 31)]
    assert trajectory(system, state[0], iterations=30) == literal


def test_it_stops_a_round_after_settling():
    states = trajectory(SMALL, EXAMPLE_3, iterations=500, after_settling=3)
    assert len(states) - 1 == 16 + 3
    assert is_settled(SMALL, states[16])
    assert not any(is_settled(SMALL, x) for x in states[:16])
    assert len(trajectory(SMALL, EXAMPLE_3, iterations=10, after_settling=3)) == 11
    assert len(trajectory(SMALL, (2, 2, 2), iterations=10, after_settling=0)) == 1


@given(one_class)
def test_projection_fills_memory_and_keeps_proportions(system_and_state):
    system, state = system_and_state
    halves = [x / 2 for x in state[0]]
    assert projected_start(system, halves) == tuple(state[0])
    assert memory_used(system, [projected_start(system, halves)]) == system.capacity


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ((2, 2), "2 masses"),
        ((2, 2, -1), "-1 at stage 2"),
        ((2.5, 2, 1.7), "2.5"),
        ((Fraction(5, 2), 2, 2), "51/2 tokens, 3/2 over capacity"),
        ((2, 2, 1), "19 tokens, 5 short of capacity"),
        ((0, 0, 0), "0 tokens, 24 short"),
        ("2,2,2", "'2,2,2'"),
    ],
)
def test_bad_starts_are_refused_in_one_line(start, said):
    with pytest.raises(InputError) as caught:
        checked_start(SMALL, start)
    assert caught.value.argument == "start"
    assert said in str(caught.value)


def test_the_message_offers_the_scaled_start():
    with pytest.raises(InputError, match="scaled by 16/17 it is 40/17,32/17,32/17"):
        checked_start(SMALL, (Fraction(5, 2), 2, 2))


def test_nothing_can_be_scaled_from_nothing():
    with pytest.raises(InputError, match="at least one positive mass"):
        projected_start(SMALL, (0, 0, 0))


@pytest.mark.parametrize("iterations", [0, -1, True, 2.0])
def test_a_horizon_below_one_is_refused(iterations):
    with pytest.raises(InputError, match="iterations"):
        trajectory(SMALL, EXAMPLE_3, iterations=iterations)


def test_several_classes_are_refused():
    half = Fraction(1, 2)
    two = System(Workload((RequestClass(2, 3, half), RequestClass(2, 2, half))), Fraction(24))
    with pytest.raises(InputError, match="2 classes"):
        trajectory(two, EXAMPLE_3, iterations=3)
