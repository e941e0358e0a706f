"""Labels, literally, against the mass model, literally: equal in rationals."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv.exact import mass
from fluidkv.exact.one_class.blocks import block_end, block_step
from fluidkv.workload import RequestClass, System, Workload
from tests.fluid.labels.cases import exact, order
from tests.strategies import feasible_states, systems

EXAMPLE_6 = System(Workload((RequestClass(2, 4),)), Fraction(63))


def assert_equal_for(system, state, iterations):
    labels = exact(system, state)
    for _ in range(iterations):
        step = mass.iterate(system, state)
        flows = labels.iterate()
        state = step.state
        by_end = order(system)
        assert flows.admitted == [step.admitted[k] for k in by_end]
        assert flows.completed == [step.completed[k] for k in by_end]
        assert flows.evicted == [sum(step.evicted[k]) for k in by_end]
        for row, k in zip(labels.state(), by_end, strict=True):
            assert row[: len(state[k])] == state[k]
        assert labels.requests == sum(sum(row) for row in state)


@settings(max_examples=60)
@given(st.data())
def test_labels_equal_the_mass_model_in_rationals(data):
    system = data.draw(systems())
    assert_equal_for(system, data.draw(feasible_states(system)), 20)


@pytest.mark.thorough
@settings(max_examples=1000)
@given(st.data())
def test_labels_equal_the_mass_model_in_rationals_for_long(data):
    system = data.draw(systems())
    assert_equal_for(system, data.draw(feasible_states(system)), 40)


@pytest.mark.parametrize(
    "start", [[17, 3, 0, 0], [0, 0, 9, 3], [Fraction(7, 2)] * 4, [0, 0, 0, 0], [1, 1, 1, 1]]
)
def test_whole_cycles_and_starts_below_capacity(start):
    assert_equal_for(EXAMPLE_6, [[Fraction(x) for x in start]], 30)


def test_between_completions_the_youngest_falls_as_proposition_a4_says():
    # One gap at a time: what the squeeze says of its last iteration is y'_0 of equation (16).
    start = [Fraction(x) for x in (10, 0, 4, 0, 0, 3)]
    system = System(Workload((RequestClass(2, 6),)), Fraction(10 * 3 + 4 * 5 + 3 * 8))
    labels, before, squeezed = exact(system, [start]), block_end(start, 0), 0
    for n in range(1, 41):
        labels.iterate()
        state = [Fraction(x) for x in labels.state()[0]]
        if state[-1]:
            expected, before = block_step(2, before), block_end(state, n)
            assert expected in (before, None)
            squeezed += expected is not None
    assert squeezed > 5
