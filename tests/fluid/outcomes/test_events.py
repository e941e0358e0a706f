"""The event log against recorded states, against the exact reference, and against the paper."""

import re
from fractions import Fraction
from itertools import accumulate

import jax
import numpy as np
import pytest
from hypothesis import example, given

from fluidkv.errors import InputError
from fluidkv.exact.mass import iterate, memory_used
from fluidkv.exact.one_class.cascade import cascade
from fluidkv.exact.one_class.cycles import balanced_cycle, throughput
from fluidkv.exact.one_class.gaps import gap_vectors
from fluidkv.exact.one_class.trajectory import trajectory
from fluidkv.fluid import event_log, simulate, uniform_starts
from fluidkv.workload import RequestClass, System, Workload
from tests.small_systems import SMALL, one_class
from tests.strategies import homogeneous_systems, systems_with_states

TIE = Fraction(1, 10**6)
"""A decision closer than this, in units of capacity, is not held against floats. The rounding of a
start, 1e-16, grows by less than beta = (l0 + l1) / (l0 + 1) <= 7/2 an iteration; trajectories of
these small systems settle within some 20 iterations, and 1e-16 * 3.5^18 = 6e-7."""


def events_of_states(states, settled):
    """First eviction and levels of recorded states of one trajectory, the plain way.

    An eviction shows as fewer requests at some stage than were one stage before. That misses no
    eviction unless rounding hides it, which the starts here are too far from.
    """
    empty = (states == 0).sum(axis=1)
    evicted = (states[1:, 1:] < states[:-1, :-1]).any(axis=1)
    first = int(np.argmax(evicted)) + 1 if evicted.any() else -1
    levels = range(states.shape[1])
    reached = [int(np.argmax(empty >= i)) if (empty >= i).any() else -1 for i in levels]
    return first, int(evicted[:settled].sum()), reached


@pytest.mark.parametrize(("l0", "l1", "capacity"), [(2, 3, 24), (10, 8, 1000), (3, 20, 700)])
def test_events_are_those_of_recorded_states(l0, l1, capacity):
    system = one_class(l0, l1, capacity)
    starts = uniform_starts(jax.random.key(3), system, count=40)
    starts[20:, ::2] = 0
    weights = l0 + 1 + np.arange(l1)
    starts *= capacity / (starts @ weights)[:, None]
    horizon = 400
    log = event_log(system, starts, iterations=horizon)
    recorded = simulate(system, starts[:, None], iterations=horizon, record=["state"])
    for b in range(40):
        states = np.concatenate([starts[b : b + 1], recorded.state.values[b, :, 0]])
        settled = int(log.settled[b])
        first, evictions, reached = events_of_states(states, settled)
        assert (int(log.first_eviction[b]), int(log.evictions[b])) == (first, evictions)
        assert log.reached[b].values.tolist() == reached
        assert settled == reached[-1] >= 0
        # Every trajectory here collapses, and then completes M / (l0 + l1) requests a turn.
        # The completion is one quotient, and its sum over a turn adds zeros to it: one rounding.
        worst = capacity / (l1 * (l0 + l1))
        assert float(log.throughput[b]) == pytest.approx(worst, rel=1e-15)


@given(systems_with_states(systems=homogeneous_systems))
@example((SMALL, [[Fraction(5, 2), Fraction(2), Fraction(17, 10)]]))
def test_events_are_those_of_the_exact_reference(system_and_state):
    system, state = system_and_state
    horizon = 25
    log = event_log(system, [float(x) for x in state[0]], iterations=horizon)
    empty = empty_stages(state)
    first, reached = -1, dict.fromkeys(range(empty + 1), 0)
    for n in range(1, horizon + 1):
        step = iterate(system, state)
        if is_close_call(system, step):
            break
        state = step.state
        if first < 0 and any(step.evicted[0]):
            first = n
        for level in range(empty_stages(state) + 1):
            reached.setdefault(level, n)
    else:
        n = horizon + 1
    # Up to the first close call, the two agree on everything.
    assert upto(n, log.first_eviction.item()) == first
    found = [upto(n, x) for x in log.reached[0].values.tolist()]
    assert found == [reached.get(level, -1) for level in range(len(state[0]))]


def upto(n, event):
    return event if event < n else -1


def empty_stages(state):
    return sum(x == 0 for x in state[0])


def is_close_call(system, step):
    """Memory within TIE of full after execution, or eviction that ends within TIE of the border
    between two stages, exact ties among both."""
    near = TIE * system.capacity
    excess = memory_used(system, step.executed) - system.capacity
    if abs(excess) < near:
        return True
    first_weight = system.workload.classes[0].input_length + 1
    memory = [(first_weight + j) * x for j, x in enumerate(step.executed[0])]
    borders = [sum(memory[: j + 1]) for j, m in enumerate(memory) if m > 0]
    return any(abs(border - excess) < near for border in borders)


def exact_events(system, start, horizon):
    """First eviction, evictions and levels in rationals, up to settling and within the horizon."""
    found = cascade(trajectory(system, start, iterations=horizon, after_settling=2), system)
    reached = dict.fromkeys(range(sum(x == 0 for x in start) + 1), 0)
    for loss in found.support_losses:
        for level in range(max(reached) + 1, loss.empty_stages + 1):
            reached[level] = loss.iteration
    settled = reached.get(len(start) - 1, -1)
    evicted = [e.iteration for e in found.evictions if settled < 0 or e.iteration <= settled]
    first = found.evictions[0].iteration if found.evictions else -1
    return first, len(evicted), settled, [reached.get(i, -1) for i in range(len(start))]


def starts_and_their_systems(seed, count):
    """Random masses of one in two stages or of all; memory is what they hold, exactly."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        l0, l1 = (int(x) for x in random.integers([1, 2], [12, 13]))
        masses = random.exponential(size=l1) * 40 / (l0 + 1 + np.arange(l1))
        masses[random.permutation(l1)[: random.integers(0, 2) * (l1 // 2)]] = 0.0
        start = [Fraction(x) for x in masses.tolist()]
        used = sum((l0 + 1 + j) * x for j, x in enumerate(start))
        if used > l0 + l1:
            yield one_class(l0, l1, used), start


@pytest.mark.parametrize(
    "count", [60, pytest.param(3000, marks=pytest.mark.thorough)], ids=["few", "many"]
)
def test_thousands_of_trajectories_have_the_events_of_their_rationals(count):
    # No drawn start meets a tie that floats would decide otherwise, so nothing is left out.
    for system, start in starts_and_their_systems(17, count):
        log = event_log(system, [float(x) for x in start], iterations=150).isel(batch=0)
        found = (log.first_eviction, log.evictions, log.settled)
        first, evictions, settled, reached = exact_events(system, start, 150)
        assert tuple(map(int, found)) == (first, evictions, settled)
        assert log.reached.values.tolist() == reached


@pytest.mark.parametrize(("l0", "l1"), [(2, 4), (5, 7), (3, 8)])
def test_balanced_cycles_of_whole_numbers_repeat_for_ever_from_every_state(l0, l1):
    # With c = 1 a live position holds its gap: whole numbers, but for the youngest within a block.
    workload = one_class(l0, l1, 10**6).workload
    for gaps in gap_vectors(l1):
        capacity = sum(g * (l0 + s) for g, s in zip(gaps, accumulate(gaps), strict=True))
        system = System(workload, Fraction(capacity))
        states = balanced_cycle(system, gaps).states
        log = event_log(system, [[float(x) for x in state] for state in states], iterations=10**4)
        assert set(log.settled.values.tolist()) == {0}
        assert np.allclose(log.throughput, float(throughput(system, gaps)), rtol=1e-15, atol=0)


def test_the_table_of_example_3():
    log = event_log(SMALL, [2.5, 2.0, 1.7], iterations=100).isel(batch=0)
    assert log.first_eviction == 7
    assert log.evictions == 4  # at 7, 10, 13 and 16
    assert log.reached.values.tolist() == [0, 7, 16]
    assert log.settled == 16
    assert log.throughput == pytest.approx(8 / 5, rel=1e-15)


def test_one_request_too_many_collapses_a_system_of_eight_stages():
    # l0 = 10, l1 = 8, M = 1000: the last stage gives back what stage 0 takes.
    system = one_class(10, 8, 1000)
    start = np.full(8, 1000 / (8 * 29 / 2))
    start[0] += 1
    start[-1] -= 11 / 18
    log = event_log(system, start, iterations=200).isel(batch=0)
    assert log.first_eviction == 33
    assert log.reached.values.tolist() == [0, 33, 72, 79, 81, 87, 93, 102]
    assert log.settled == 102


def test_memory_exactly_full_is_no_eviction():
    system = one_class(1, 3, 14)  # weights 2, 3, 4
    log = event_log(system, [2.0, 2.0, 1.0], iterations=1).isel(batch=0)
    assert log.first_eviction == -1
    assert log.reached.values.tolist() == [0, 1, -1]  # yet the completing position is lost


def test_a_cycle_made_of_floats_is_recognised_by_exact_repetition():
    # Example 6: (17, 3, 0, 0) -> (0, 12, 3, 0) -> (0, 0, 9, 3) -> (3, 0, 0, 9), exact in floats.
    log = event_log(one_class(2, 4, 63), [17, 3, 0, 0], iterations=100).isel(batch=0)
    assert log.settled == 0
    assert log.throughput == 3
    assert log.final_state.values.tolist() == [17, 3, 0, 0]


def test_a_start_near_an_unstable_cycle_has_not_settled_before_it_left():
    # 1e-9 off the fixed point: for 40 iterations it moves by less than 1e-4, and is not there.
    off = np.array([2 + 1e-9, 2 - 2e-9, 2 + 1e-9])
    early = event_log(SMALL, off, iterations=30).isel(batch=0)
    assert np.abs(early.final_state - 2).max() < 1e-4
    assert early.settled == -1
    assert np.isnan(early.throughput)
    late = event_log(SMALL, off, iterations=500).isel(batch=0)
    assert late.reached[-1] == late.settled > 30


def test_events_beyond_the_horizon_are_not_reported():
    # A turn has three iterations; 7 is in the middle of the third.
    for horizon, first, levels in ((6, -1, [0, -1, -1]), (7, 7, [0, 7, -1]), (15, 7, [0, 7, -1])):
        log = event_log(SMALL, [2.5, 2.0, 1.7], iterations=horizon).isel(batch=0)
        assert (log.first_eviction, log.settled) == (first, -1)
        assert log.reached.values.tolist() == levels
    assert event_log(SMALL, [2.5, 2.0, 1.7], iterations=16).settled.item() == 16


def test_a_single_stage_is_at_its_fixed_point():
    log = event_log(one_class(3, 1, 12), [3.0], iterations=5).isel(batch=0)
    assert (log.settled, log.throughput, log.first_eviction) == (0, 3, -1)


@pytest.mark.parametrize(
    ("start", "iterations", "said"),
    [
        ([2.0, 2.0, 2.5], 10, "start: got 'memory +2.5 tokens off the boundary (trajectory 0)'"),
        ([[2, 2, 2], [2, 2, 1]], 10, "memory -5 tokens off the boundary (trajectory 1)"),
        ([2.0, 2.0, 2.5], 10, "masses times 0.9056603773584"),
        ([0.0, 0.0, 0.0], 10, "memory -24 tokens"),
        ([2.0, 2.0], 10, "shape (2,)"),
        ([2.0, 2.0, float("nan")], 10, "non-finite"),
        ([14.0, -2.0, -2.0], 10, "negative"),
        ([[[2.0, 2.0, 2.0]] * 2], 10, "shape (1, 2, 3)"),
        ("abc", 10, "start: got 'abc'; allowed: a number or an array of numbers"),
        ([2.0, 2.0, 2.0], 0, "iterations: got 0"),
        ([2.0, 2.0, 2.0], 1.5, "iterations: got 1.5"),
        ([2.0, 2.0, 2.0], True, "iterations: got True"),
    ],
)
def test_bad_input_is_named(start, iterations, said):
    with pytest.raises(InputError, match=re.escape(said)):
        event_log(SMALL, start, iterations=iterations)


def test_two_classes_are_refused():
    halves = Workload((RequestClass(2, 1, Fraction(1, 2)), RequestClass(2, 1, Fraction(1, 2))))
    with pytest.raises(InputError, match=r"^system: got '2 classes'"):
        event_log(System(halves, Fraction(24)), [[1.0]], iterations=1)
