"""Congestion, Lemma A.1 (monotonicity before eviction) and the inequalities of section 3.3.

One class, memory boundary, G = max_j x_j - min_j x_j. The lemma says that G does not fall while
the trajectory is eviction-free; we read this for each single iteration that evicts nothing, which
is the weakest hypothesis that its words allow. Exact arithmetic; the cases are a sample.

No counterexample is known: the lemma holds as printed, also with empty stages, with l1 = 1 (where
G is always 0), and on the step that fills memory to exactly M.
"""

from fractions import Fraction
from itertools import islice, pairwise

from hypothesis import example, given, target
from hypothesis import strategies as st

from fluidkv.exact.mass import iterate, iterates
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import homogeneous_systems, systems_with_states

SMALL = System(Workload((RequestClass(2, 3),)), Fraction(24))
FULL = System(Workload((RequestClass(1, 3),)), Fraction(14))

one_class = systems_with_states(systems=homogeneous_systems)


def spread(state):
    return max(state[0]) - min(state[0])


def evicts(step):
    return any(x > 0 for x in step.evicted[0])


@given(one_class)
@example((SMALL, [[Fraction(5, 2), Fraction(2), Fraction(17, 10)]]))  # Example 3
@example((FULL, [[Fraction(2), Fraction(2), Fraction(1)]]))  # executes to exactly M
@example((SMALL, [[Fraction(0), Fraction(0), Fraction(24, 5)]]))  # only a completion
def test_the_spread_does_not_fall_in_an_iteration_without_eviction(system_and_state):
    system, state = system_and_state
    step = iterate(system, state)
    if not evicts(step):
        change = spread(step.state) - spread(state)
        target(-float(change), label="fall of the spread")
        assert change >= 0


@given(one_class)
def test_the_spread_grows_when_an_extremal_stage_completes(system_and_state):
    # Section 3.3: by at least G / (l0 + 1) where the last stage holds the minimum or the maximum.
    system, state = system_and_state
    step = iterate(system, state)
    last = state[0][-1]
    if not evicts(step) and last in (min(state[0]), max(state[0])):
        least = spread(state) / (system.workload.classes[0].input_length + 1)
        assert spread(step.state) >= spread(state) + least


@given(one_class)
def test_admission_follows_equation_6_in_an_iteration_without_eviction(system_and_state):
    system, state = system_and_state
    step = iterate(system, state)
    if not evicts(step):
        last, l0 = state[0][-1], system.workload.classes[0].input_length
        assert step.admitted[0] == last + sum(last - x for x in state[0]) / (l0 + 1)


@given(one_class, st.integers(1, 12))
def test_the_spread_does_not_fall_along_a_trajectory_before_its_first_eviction(
    system_and_state, iterations
):
    system, state = system_and_state
    for before, after in pairwise(islice(iterates(system, state), iterations + 1)):
        if evicts(iterate(system, before)):
            return
        assert spread(after) >= spread(before)


def test_an_eviction_can_lower_the_spread():
    # So the hypothesis is needed: evicting (8, 0, 0) to (0, 6, 0) lowers G from 8 to 6.
    step = iterate(SMALL, [[8, 0, 0]])
    assert evicts(step)
    assert step.state == [[0, 6, 0]]
