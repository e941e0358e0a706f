"""The kernel as it is written, in rationals, against the mass model, literally: equal."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv.exact import mass
from fluidkv.exact.one_class.blocks import block_end, block_step
from tests.fluid.labels.cases import exact_rectangle, exact_run, exact_tables
from tests.small_systems import one_class
from tests.strategies import cohort_profiles, feasible_states, systems

EXAMPLE_6 = one_class(2, 4, 63)


def assert_equal_for(system, state, iterations):
    """Each record of each iteration, class by class."""
    rows, classes = exact_rectangle(system, state), system.workload.classes
    run = exact_run(exact_tables(system, by_class=True), rows, system.capacity, iterations)
    for n in range(iterations):
        step = mass.iterate(system, state)
        state = step.state
        assert run.admitted[n].tolist() == list(step.admitted)
        assert run.completed[n].tolist() == list(step.completed)
        assert run.evicted[n].tolist() == [sum(row) for row in step.evicted]
        assert run.in_flight[n].tolist() == [sum(row) for row in state]
        for row, own, c in zip(run.state[n], state, classes, strict=True):
            assert row.tolist()[: c.decode_length] == list(own)
        assert run.empty_stages[n] == np.all(run.state[n] == 0, axis=0).sum()
    assert np.array_equal(run.final, run.state[-1])


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


@settings(max_examples=40)
@given(st.data())
def test_cohorts_are_the_classes_in_proportion_to_their_shares(data):
    system = data.draw(systems())
    cohorts = np.array([data.draw(cohort_profiles(system))], object)
    shares = [c.share for c in system.workload.classes]
    rows = [
        p * cohorts[0, : c.decode_length]
        for p, c in zip(shares, system.workload.classes, strict=True)
    ]
    units, classes = (
        exact_run(exact_tables(system, by_class=by_class), state, system.capacity, 15)
        for by_class, state in ((False, cohorts), (True, exact_rectangle(system, rows)))
    )
    for name in ("admitted", "completed", "evicted", "in_flight"):
        assert getattr(units, name)[:, 0].tolist() == getattr(classes, name).sum(axis=1).tolist()
    longest = np.argmax([c.decode_length for c in system.workload.classes])
    assert np.array_equal(units.state[:, 0] * shares[longest], classes.state[:, longest])


@pytest.mark.parametrize(
    "start", [[17, 3, 0, 0], [0, 0, 9, 3], [Fraction(7, 2)] * 4, [0, 0, 0, 0], [1, 1, 1, 1]]
)
def test_whole_cycles_and_starts_below_capacity(start):
    assert_equal_for(EXAMPLE_6, [[Fraction(x) for x in start]], 30)


def test_between_completions_the_youngest_falls_as_proposition_a4_says():
    # One gap at a time: what the loop says of its last iteration is y'_0 of equation (16).
    start = [Fraction(x) for x in (10, 0, 4, 0, 0, 3)]
    system = one_class(2, 6, 10 * 3 + 4 * 5 + 3 * 8)
    tables = exact_tables(system, by_class=True)
    run, before, gaps = exact_run(tables, np.array([start]), system.capacity, 40), None, 0
    before = block_end(start, 0)
    for n in range(1, 41):
        state = run.state[n - 1, 0].tolist()
        if state[-1]:
            expected, before = block_step(2, before), block_end(state, n)
            assert expected in (before, None)
            gaps += expected is not None
    assert gaps > 5
