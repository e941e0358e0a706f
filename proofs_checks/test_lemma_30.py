"""Congestion, Lemma 30: one vector of cohorts carries two classes, from a proportional start.

The lemma's induction starts from proportions; other starts need up to b iterations (Lemma 9).
"""

from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact import LengthMix
from fluidkv.exact.mass import iterate, memory_used
from fluidkv.exact.mixed.cycles.orbits import CohortMap
from tests.strategies import (
    boundary_states,
    cohort_profiles,
    length_mixes,
    lengths,
    systems,
    workloads,
)

pairs_with_common_input = systems(
    workloads=st.builds(LengthMix.workload, length_mixes(longest=8, classes=2), lengths)
)


@given(st.data())
def test_proportions_persist_with_the_weights_of_the_lemma(data):
    system = data.draw(pairs_with_common_input)
    short, long = system.workload.classes
    p, q, a = short.share, long.share, short.decode_length
    y = data.draw(cohort_profiles(system))
    state = [[p * x for x in y[:a]], [q * x for x in y]]
    weights = [(long.input_length + 1 + j) * (1 if j < a else q) for j in range(long.decode_length)]
    for _ in range(2 * long.decode_length):
        state = iterate(system, state).state
        y = [x / q for x in state[1]]
        assert state[0] == [p * x for x in y[:a]]
        # Memory seen by cohorts is memory seen by classes.
        assert sum(v * x for v, x in zip(weights, y, strict=True)) == memory_used(system, state)


@given(st.data())
def test_any_start_is_proportional_after_the_longest_decode(data):
    system = data.draw(systems(workloads=workloads(min_classes=2)))
    state = data.draw(boundary_states(system))
    for _ in range(system.workload.longest_decode):
        state = iterate(system, state).state
    oldest = max(system.workload.classes, key=lambda c: c.decode_length)
    whole = state[system.workload.classes.index(oldest)]
    for c, row in zip(system.workload.classes, state, strict=True):
        assert row == [c.share * x / oldest.share for x in whole[: c.decode_length]]


@given(systems(), st.data())
def test_the_vector_of_cohorts_moves_by_itself(system, data):
    # What is evicted and admitted is decided by the vector and its weights; no class is needed.
    dynamics, y = CohortMap(system), tuple(data.draw(cohort_profiles(system)))
    state = dynamics.masses(y)
    for _ in range(2 * system.workload.longest_decode):
        front, y = dynamics.step(y)
        step = iterate(system, state)
        assert step.state == dynamics.masses(y)
        assert all(x == 0 for row in step.evicted for x in row[front + 1 :])
        state = step.state
