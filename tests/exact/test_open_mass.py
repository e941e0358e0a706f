"""The literal open model against the exact one, and what its rules say on small cases."""

from fractions import Fraction

from hypothesis import given

from fluidkv.exact import iterate
from fluidkv.exact.open_mass import iterate_open
from fluidkv.workload import RequestClass, System, Workload
from tests.small_systems import SMALL
from tests.strategies import open_states

MIXED = System(
    Workload((RequestClass(3, 2, Fraction(1, 3)), RequestClass(1, 5, Fraction(2, 3)))), 60
)


@given(open_states())
def test_it_is_the_exact_model_where_proportions_hold(case):
    system, state, queue, arrivals, _ = case
    ours = iterate_open(system, state, queue, arrivals, selection="shares")
    exact = iterate(system, state, waiting=queue, arrivals=arrivals)
    assert ours.state == exact.state
    assert ours.queue == exact.waiting
    assert (ours.completed, ours.admitted) == (exact.completed, exact.admitted)
    assert ours.evicted == [sum(row) for row in exact.evicted]


def test_masses_of_example_1():
    # Congestion, Example 1, in masses: 9 tokens stay, 15 are free, 5 of 13 come in. Then 25 tokens
    # exceed 24 by one, a quarter of a stage-1 request leaves, and no memory is free.
    first = iterate_open(SMALL, [[1, 1, 2]], [8], [5])
    assert (first.completed, first.evicted, first.admitted) == ([2], [0], [5])
    assert (first.state, first.queue) == ([[5, 1, 1]], [8])
    second = iterate_open(SMALL, first.state, first.queue, [0])
    assert second.state == [[0, Fraction(19, 4), 1]]
    assert second.queue == [Fraction(33, 4)]


def test_an_empty_class_stops_the_shares_rule_and_not_the_queued_one():
    empty = [[0, 0], [0, 0, 0, 0, 0]]
    waiting = [Fraction(6), Fraction(0)]
    strict = iterate_open(MIXED, empty, waiting, [0, 0], selection="shares")
    assert strict.admitted == [0, 0]
    queued = iterate_open(MIXED, empty, waiting, [0, 0], selection="queued")
    assert queued.admitted == [6, 0]


def test_both_rules_are_the_papers_from_a_queue_in_proportions():
    empty = [[0, 0], [0, 0, 0, 0, 0]]
    for cap in (None, Fraction(3)):
        steps = [
            iterate_open(MIXED, empty, [20, 40], [0, 0], cap=cap, selection=rule)
            for rule in ("queued", "shares")
        ]
        assert steps[0] == steps[1]


def test_a_cap_on_the_total_may_be_taken_by_one_class_and_one_on_classes_may_not():
    empty, waiting = [[0, 0], [0, 0, 0, 0, 0]], [Fraction(6), Fraction(0)]
    total = iterate_open(MIXED, empty, waiting, [0, 0], cap=Fraction(3))
    assert total.admitted == [3, 0]
    by_class = iterate_open(MIXED, empty, waiting, [0, 0], cap=Fraction(3), cap_on="class")
    assert by_class.admitted == [1, 0]
