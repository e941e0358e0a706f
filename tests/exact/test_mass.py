"""The literal reference against the paper's closed forms and against conservation laws."""

from fractions import Fraction
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.exact.mass import evict, execute, iterate, iterates, memory_used
from fluidkv.exact.survival import eviction_free_equilibrium
from fluidkv.workload import RequestClass, System, Workload
from tests.small_systems import one_class
from tests.strategies import boundary_states, feasible_states, systems, systems_with_states

SMALL = one_class(2, 3, 24)  # the system of Examples 1 to 3


def test_protocol_trace_with_a_finite_queue():
    # Congestion, Example 1.
    first = iterate(SMALL, [[1, 1, 2]], waiting=[8], arrivals=[5], whole_requests=True)
    assert first.executed == [[0, 1, 1]]
    assert first.completed == [2]
    assert first.evicted == [[0, 0, 0]]
    assert first.admitted == [5]
    assert (first.state, first.waiting) == ([[5, 1, 1]], [8])

    second = iterate(SMALL, first.state, waiting=first.waiting, arrivals=[0], whole_requests=True)
    assert second.executed == [[0, 5, 1]]
    assert second.completed == [1]
    assert second.evicted == [[0, 1, 0]]
    assert second.admitted == [1]
    assert (second.state, second.waiting) == ([[1, 4, 1]], [8])


def test_masses_are_evicted_by_less_than_a_request():
    # The second iteration of Example 1 with masses: the excess of 1 token is 1/4 of a request,
    # and nothing is left for admission.
    step = iterate(SMALL, [[5, 1, 1]])
    assert step.evicted == [[0, Fraction(1, 4), 0]]
    assert step.state == [[0, Fraction(19, 4), 1]]


def test_a_short_queue_leaves_memory_free():
    step = iterate(SMALL, [[1, 1, 2]], waiting=[1], arrivals=[2])
    assert step.admitted == [3]
    assert step.waiting == [0]
    assert memory_used(SMALL, step.state) == 9 + 3 * 3


@given(systems(), st.data())
def test_equilibrium_is_a_fixed_point(system, data):
    rate = eviction_free_equilibrium(system).rate
    state = [[c.share * rate] * c.decode_length for c in system.workload.classes]
    assert memory_used(system, state) == system.capacity
    step = iterate(system, state)
    assert step.state == state
    assert sum(step.completed) == rate


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 50))
def test_one_burst_cycles_through_the_stages_with_maximal_eviction(l0, l1, spare):
    # Congestion, section 3.2: (M/w_0, 0, ...) -> (0, M/w_1, 0, ...) -> ... -> (M/w_0, 0, ...).
    system = one_class(l0, l1, l0 + l1 + spare)
    cycle = [
        [[system.capacity / (l0 + 1 + s) if j == s else 0 for j in range(l1)]] for s in range(l1)
    ]
    assert list(islice(iterates(system, cycle[0]), l1 + 1)) == [*cycle, cycle[0]]


@given(systems(), st.data())
def test_memory_is_full_after_every_iteration_from_any_feasible_state(system, data):
    state = data.draw(feasible_states(system))
    assert memory_used(system, iterate(system, state).state) == system.capacity


@given(systems_with_states())
def test_mass_is_conserved(system_and_state):
    system, state = system_and_state
    step = iterate(system, state)
    for k, row in enumerate(state):
        after = step.completed[k] + sum(step.evicted[k]) + sum(step.state[k])
        assert sum(row) + step.admitted[k] == after


@given(systems(), st.data())
def test_eviction_spares_a_stage_until_all_less_progressed_ones_are_empty(system, data):
    executed, _ = execute(data.draw(boundary_states(system)))
    kept, evicted = evict(system, executed)
    assert memory_used(system, kept) == min(memory_used(system, executed), system.capacity)
    stages = range(system.workload.longest_decode)
    hit = [j for j in stages if any(j < len(row) and row[j] > 0 for row in evicted)]
    for row in kept:
        assert not any(row[: max(hit, default=0)])


@given(systems(), st.data())
def test_a_partly_evicted_stage_keeps_its_mix_of_classes(system, data):
    executed, _ = execute(data.draw(boundary_states(system)))
    kept, _ = evict(system, executed)
    for j in range(system.workload.longest_decode):
        fractions = {
            after[j] / before[j]
            for before, after in zip(executed, kept, strict=True)
            if j < len(before) and before[j] > 0
        }
        assert len(fractions) <= 1


@given(systems(), st.data())
def test_any_state_reaches_the_proportional_cohort_manifold(system, data):
    # Congestion, Lemma 9: after d iterations x_kj = p_k y_j wherever class k has a stage j.
    d = system.workload.longest_decode
    state = next(islice(iterates(system, data.draw(feasible_states(system))), d, None))
    for j in range(d):
        classes = zip(system.workload.classes, state, strict=True)
        assert len({row[j] / c.share for c, row in classes if j < c.decode_length}) == 1


def test_memory_exactly_full_evicts_and_admits_nothing():
    system = one_class(1, 3, 14)  # weights 2, 3, 4
    step = iterate(system, [[2, 2, 1]])
    assert memory_used(system, step.executed) == 14
    assert step.evicted == [[0, 0, 0]]
    assert step.admitted == [0]
    assert step.state == [[0, 2, 2]]


def test_a_stage_exactly_emptied_leaves_the_next_one_whole():
    system = one_class(1, 3, 8)
    step = iterate(system, [[1, 2, 0]])  # executes to memory 3 + 8 = 11, an excess of 3
    assert step.evicted == [[0, 1, 0]]
    assert step.state == [[0, 0, 2]]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"state": [[1, 1]]}, "state"),
        ({"state": [[1, 1, 1], [1]]}, "state"),
        ({"state": [[1, -1, 1]]}, "state"),
        ({"state": [[9, 0, 0]]}, "state"),
        ({"state": [[1, 1, 1]], "waiting": [1, 2]}, "waiting"),
        ({"state": [[1, 1, 1]], "waiting": [1], "arrivals": [-1]}, "arrivals"),
        ({"state": [[1, 1, 1]], "arrivals": [1]}, "arrivals"),
    ],
)
def test_bad_input_is_named(arguments, named):
    with pytest.raises(InputError, match=f"^{named}: "):
        iterate(SMALL, **arguments)


def test_whole_requests_of_several_classes_are_refused():
    halves = Workload((RequestClass(2, 1, Fraction(1, 2)), RequestClass(2, 1, Fraction(1, 2))))
    with pytest.raises(InputError, match=r"^whole_requests: "):
        iterate(System(halves, Fraction(24)), [[1], [1]], whole_requests=True)
