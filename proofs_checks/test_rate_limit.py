"""Congestion, section 5.1: under the cap x*, eviction ends after at most max l1 iterations.

Any feasible start, any queue, any arrivals; exact arithmetic. With a_k = p_k a, as printed, and
with each class capped at p_k x*; a cap on the total alone is not enough when something else than
the mix waits, which the last test holds on to.
"""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.open_mass import iterate_open
from fluidkv.exact.survival import eviction_free_equilibrium
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import feasible_states, homogeneous_systems, systems

amounts = st.one_of(st.just(Fraction(0)), st.fractions(0, 40, max_denominator=4))


@st.composite
def capped(draw, systems):
    """A system, a start, a queue, arrivals for twice the longest decode, a cap of at most x*."""
    system = draw(systems)
    classes = len(system.workload.classes)
    by_class = st.lists(amounts, min_size=classes, max_size=classes)
    rows = draw(st.lists(by_class, min_size=1, max_size=4))
    part = draw(st.sampled_from((Fraction(1), Fraction(1), Fraction(2, 3))))
    cap = part * eviction_free_equilibrium(system).rate
    return system, draw(feasible_states(system)), draw(by_class), rows, cap


def walk(case, *, selection, cap_on):
    """Steps of twice the longest decode length."""
    system, state, queue, rows, cap = case
    for n in range(2 * system.workload.longest_decode):
        arrivals = rows[n % len(rows)]
        step = iterate_open(
            system, state, queue, arrivals, cap=cap, selection=selection, cap_on=cap_on
        )
        yield step
        state, queue = step.state, step.queue


def last_eviction(steps):
    return max((n for n, step in enumerate(steps, start=1) if any(step.evicted)), default=0)


@given(capped(homogeneous_systems))
def test_one_class_evicts_in_less_than_l1_iterations(case):
    found = last_eviction(walk(case, selection="queued", cap_on="total"))
    assert found < case[0].workload.longest_decode


@given(capped(systems()))
def test_proportional_classes_evict_in_less_than_max_l1_iterations(case):
    found = last_eviction(walk(case, selection="shares", cap_on="total"))
    assert found < case[0].workload.longest_decode


@given(capped(systems()))
def test_capped_classes_evict_in_less_than_max_l1_iterations_whatever_waits(case):
    found = last_eviction(walk(case, selection="queued", cap_on="class"))
    assert found < case[0].workload.longest_decode


@given(capped(systems()))
def test_capped_classes_are_admitted_at_once_after_the_transient(case):
    # Memory never binds again: what is admitted is what waits, up to the class's cap.
    system, _, queue, rows, cap = case
    d = system.workload.longest_decode
    for n, step in enumerate(walk(case, selection="queued", cap_on="class")):
        waited = [
            q + a + e for q, a, e in zip(queue, rows[n % len(rows)], step.evicted, strict=True)
        ]
        if n >= d:
            caps = [c.share * cap for c in system.workload.classes]
            assert step.admitted == [min(q, c) for q, c in zip(waited, caps, strict=True)]
        queue = step.queue


def test_a_cap_on_the_total_evicts_for_ever_when_only_the_longer_class_waits():
    half = Fraction(1, 2)
    classes = (RequestClass(1, 1, half), RequestClass(1, 3, half))
    system = System(Workload(classes), 20)
    cap = eviction_free_equilibrium(system).rate
    case = (system, [[0], [0, 0, 0]], [Fraction(0), Fraction(1000)], [[0, 0]], cap)
    assert last_eviction(walk(case, selection="queued", cap_on="total")) == 6
    assert last_eviction(walk(case, selection="queued", cap_on="class")) == 0
