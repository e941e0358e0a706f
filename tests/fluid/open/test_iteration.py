"""The open engine against the literal model, and the literal model against the exact one."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv.exact import mass
from fluidkv.fluid.open.reference import literal_step
from fluidkv.fluid.open.system import simulate_open
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import feasible_states, systems

EPS = np.finfo(np.float64).eps
RULES = list(product(("queued", "shares"), ("total", "class"), ("wait", "lost")))
amounts = st.one_of(st.just(Fraction(0)), st.fractions(0, 20, max_denominator=6))
SMALL = System(Workload((RequestClass(2, 3),)), 24)
MIXED = System(
    Workload((RequestClass(3, 2, Fraction(1, 3)), RequestClass(1, 5, Fraction(2, 3)))), 60
)


@st.composite
def open_states(draw):
    """A system, masses at or below its capacity, a queue, arrivals, and a cap or none."""
    system = draw(systems())
    count = len(system.workload.classes)
    lists = st.lists(amounts, min_size=count, max_size=count)
    cap = draw(st.one_of(st.none(), st.fractions(Fraction(1, 4), 10, max_denominator=8)))
    return system, draw(feasible_states(system)), draw(lists), draw(lists), cap


def padded(system, state):
    d = system.workload.longest_decode
    return np.array([[*map(float, row), *[0.0] * (d - len(row))] for row in state])


@given(open_states())
def test_the_literal_model_is_the_exact_one_where_proportions_hold(case):
    system, state, queue, arrivals, _ = case
    ours = literal_step(system, state, queue, arrivals, selection="shares")
    exact = mass.iterate(system, state, waiting=queue, arrivals=arrivals)
    assert ours.state == exact.state
    assert ours.queue == exact.waiting
    assert (ours.completed, ours.admitted) == (exact.completed, exact.admitted)
    assert ours.evicted == [sum(row) for row in exact.evicted]


@pytest.mark.parametrize(
    ("selection", "cap_on", "blocked"),
    [
        ("queued", "total", "wait"),
        ("shares", "class", "wait"),
        ("queued", "class", "lost"),
        ("shares", "total", "lost"),
    ],
)
def test_the_engine_is_the_literal_model_step_by_step(selection, cap_on, blocked):
    rules = {"selection": selection, "cap_on": cap_on, "blocked": blocked}
    caps, arrivals = np.array([1.0, 4.0, 7.5, np.inf]), np.zeros((4, 40, 2))
    random = np.random.default_rng(4)
    arrivals[:, :30] = random.poisson([2.0, 4.0], (4, 30, 2))  # and the queue runs empty
    data = simulate_open(
        MIXED,
        arrivals=arrivals,
        cap=caps,
        **rules,
        record=("completed", "evicted", "admitted", "lost", "state", "queue", "evicting"),
    )
    assert float(data.evicting[-1].sum()) > 0  # greedy admission evicts: compared too
    for b, cap in enumerate(caps):
        run, state, queue = data.isel(batch=b), [[0.0] * 2, [0.0] * 5], [0.0, 0.0]
        for n in range(40):
            limit = None if np.isinf(cap) else float(cap)
            want = literal_step(MIXED, state, queue, arrivals[b, n].tolist(), cap=limit, **rules)
            compare(MIXED, run.isel(iteration=n), want)
            state = [run.state.values[n, 0, :2].tolist(), run.state.values[n, 1].tolist()]
            queue = run.queue.values[n].tolist()


def compare(system, got, want):
    """One iteration of both from one state; every quantity of a step is continuous in it."""
    # Sums of at most (classes x stages) products and a quotient, of numbers below the size.
    size = float(system.capacity) + max(float(q) for q in want.queue)
    near = 8 * (system.workload.longest_decode * len(want.queue) + 4) * size * EPS
    for name in ("completed", "evicted", "admitted", "lost", "queue"):
        wanted = [float(x) for x in getattr(want, name)]
        np.testing.assert_allclose(got[name], wanted, rtol=0, atol=near)
    np.testing.assert_allclose(got.state, padded(system, want.state), rtol=0, atol=near)


@pytest.mark.thorough
@pytest.mark.parametrize(("selection", "cap_on", "blocked"), RULES)
@settings(max_examples=40)  # each new shape compiles
@given(case=open_states())
def test_the_engine_is_the_exact_literal_model(case, selection, cap_on, blocked):
    system, state, queue, arrivals, cap = case
    rules = {"selection": selection, "cap_on": cap_on, "blocked": blocked}
    got = simulate_open(
        system,
        arrivals=[[float(a) for a in arrivals]],
        # A little below, so that rounding does not put a full memory over capacity.
        start=padded(system, state) * (1 - 2**-40),
        queue=[float(q) for q in queue],
        cap=None if cap is None else float(cap),
        record=("completed", "evicted", "admitted", "lost", "queue", "state"),
        **rules,
    )
    state = [[x * (1 - Fraction(1, 2**40)) for x in row] for row in state]
    want = literal_step(system, state, queue, arrivals, cap=cap, **rules)
    compare(system, got.isel(batch=0, iteration=0), want)


def test_masses_of_example_1():
    # Congestion, Example 1, in masses: 9 tokens stay, 15 are free, 5 of 13 come in. Then 25 tokens
    # exceed 24 by one, a quarter of a stage-1 request leaves, and no memory is free.
    first = literal_step(SMALL, [[1, 1, 2]], [8], [5])
    assert (first.completed, first.evicted, first.admitted) == ([2], [0], [5])
    assert (first.state, first.queue) == ([[5, 1, 1]], [8])
    second = literal_step(SMALL, first.state, first.queue, [0])
    assert second.state == [[0, Fraction(19, 4), 1]]
    assert second.queue == [Fraction(33, 4)]


def test_an_empty_class_stops_the_shares_rule_and_not_the_queued_one():
    empty = [[0, 0], [0, 0, 0, 0, 0]]
    waiting = [Fraction(6), Fraction(0)]
    strict = literal_step(MIXED, empty, waiting, [0, 0], selection="shares")
    assert strict.admitted == [0, 0]
    queued = literal_step(MIXED, empty, waiting, [0, 0], selection="queued")
    assert queued.admitted == [6, 0]


def test_both_rules_are_the_papers_from_a_queue_in_proportions():
    empty = [[0, 0], [0, 0, 0, 0, 0]]
    for cap in (None, Fraction(3)):
        steps = [
            literal_step(MIXED, empty, [20, 40], [0, 0], cap=cap, selection=rule)
            for rule in ("queued", "shares")
        ]
        assert steps[0] == steps[1]


def test_a_cap_on_the_total_may_be_taken_by_one_class_and_one_on_classes_may_not():
    empty, waiting = [[0, 0], [0, 0, 0, 0, 0]], [Fraction(6), Fraction(0)]
    total = literal_step(MIXED, empty, waiting, [0, 0], cap=Fraction(3))
    assert total.admitted == [3, 0]
    by_class = literal_step(MIXED, empty, waiting, [0, 0], cap=Fraction(3), cap_on="class")
    assert by_class.admitted == [1, 0]
