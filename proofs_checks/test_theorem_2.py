"""Congestion, Theorem 2 and Corollary A.11: which equilibria attract. Exact arithmetic; a sample.

Read literally: "captured exactly" is that some X^n is on a balanced cycle with two or more live
positions, and the basin is what reaches the maximal-eviction cycle. No counterexample is known to
(1), (2) or (3), for l1 >= 2, with empty stages, exact ties and starts on any face.

For l1 = 1, which the theorem excludes, the one state is fixed point and maximal-eviction cycle at
once, and (1) would be false.
"""

from fractions import Fraction
from itertools import islice

import jax
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fluidkv as fk
from fluidkv.exact.mass import iterate, iterates
from fluidkv.exact.one_class.capture import captured_start, states_before
from fluidkv.exact.one_class.cycles import balanced_cycle
from fluidkv.exact.one_class.return_map import cycle_stability
from fluidkv.exact.one_class.trajectory import is_settled, states_from
from fluidkv.verdict import Stability
from tests.small_systems import SMALL, one_class
from tests.strategies import (
    gap_compositions,
    homogeneous_systems,
    seeds,
    systems,
    systems_with_states,
    workloads,
)

HORIZON = 1500
"""Some ten times what any start of the strategies has needed; masses there have denominators of a
few digits, so that none starts closer than 1e-6 or so to an unstable cycle it is not on."""

BORDER = one_class(1, 3, 14)

long_systems = systems(
    workloads=workloads(
        max_classes=1,
        decode_lengths=st.integers(2, 24),
        inputs=st.one_of(st.integers(1, 40), st.integers(100, 5000)),
    )
)
"""Inputs far into the thousands; there a disturbance grows by 1 / l0 a turn."""


def live(state):
    return sum(x > 0 for x in state)


def end(system, start):
    """First n with X^n exactly on a balanced cycle, and X^n."""
    for n, state in enumerate(islice(states_from(system, start), HORIZON)):
        if is_settled(system, state):
            return n, state
    raise AssertionError(f"no end within {HORIZON} iterations")


@given(systems_with_states(systems=homogeneous_systems))
@example((SMALL, [[Fraction(5, 2), Fraction(2), Fraction(17, 10)]]))  # Example 3
@example((BORDER, [[Fraction(2), Fraction(2), Fraction(1)]]))  # executes to exactly full memory
@example((SMALL, [[Fraction(48, 13), Fraction(24, 13), Fraction(72, 65)]]))  # captured
def test_every_start_ends_on_a_balanced_cycle_in_finite_time(system_and_state):
    # Theorem 2 (3): the maximal-eviction cycle, or else the start is one of the exceptional set.
    # Stopping uses `is_settled`; that the end is a cycle is checked with the literal map.
    system, (start,) = system_and_state
    _, state = end(system, start)
    turn = list(islice(iterates(system, [list(state)]), len(state) + 1))
    assert turn[-1] == turn[0]
    assert {live(rows[0]) for rows in turn} == {live(state)}


@given(systems_with_states(systems=homogeneous_systems))
def test_two_stages_have_one_exception(system_and_state):
    # l1 = 2: no intermediate cycle, and the fixed point captures itself only.
    system, _ = system_and_state
    only = system.workload.classes[0]
    system = one_class(only.input_length, 2, system.capacity + 2)
    x = 2 * system.capacity / (2 * (2 * only.input_length + 3))
    assert states_before(system, (x, x)) == ((x, x),)
    for part in (Fraction(1, 7), Fraction(2, 5), Fraction(1, 2), Fraction(99, 100)):
        first = part * system.capacity / (only.input_length + 1)
        second = (1 - part) * system.capacity / (only.input_length + 2)
        if first != x:
            assert live(end(system, (first, second))[1]) == 1


@given(homogeneous_systems, st.data())
def test_all_but_the_maximal_eviction_cycle_are_unstable(system, data):
    # Theorem 2 (1) and (2) and Corollary A.11, by the determinant of the return map.
    l1 = system.workload.classes[0].decode_length
    gaps = data.draw(gap_compositions(l1))
    found = cycle_stability(system, gaps)
    assert (found.verdict is Stability.UNSTABLE) == (len(gaps) > 1)
    assert (found.expansion > 1) == (len(gaps) > 1)


@given(homogeneous_systems, st.data(), st.integers(2, 12))
def test_the_smallest_disturbance_of_a_nonmaximal_cycle_costs_a_position(system, data, digits):
    # Definition 3 itself: a start 10^-digits away whose live set shrinks, so that some later state
    # is farther than half of the smallest mass of the cycle.
    l1 = system.workload.classes[0].decode_length
    gaps = data.draw(gap_compositions(l1))
    if len(gaps) == 1:
        return
    cycle = balanced_cycle(system, gaps)
    state = list(data.draw(st.sampled_from(cycle.states)))
    first_weight = system.workload.classes[0].input_length + 1
    occupied = [j for j, x in enumerate(state) if x > 0]
    i, j = data.draw(st.permutations(occupied))[:2]
    moved = Fraction(1, 10**digits) * state[i] * (first_weight + i)
    state[i] -= moved / (first_weight + i)
    state[j] += moved / (first_weight + j)
    assert live(end(system, state)[1]) < len(gaps)


@given(homogeneous_systems, st.data(), st.integers(1, 4))
def test_intermediate_cycles_capture_starts_exactly(system, data, iterations):
    # The exceptional set is not empty, for any intermediate cycle.
    l1 = system.workload.classes[0].decode_length
    gaps = data.draw(gap_compositions(l1))
    if not 1 < len(gaps) < l1:
        return
    targets = [x for x in balanced_cycle(system, gaps).states if x[0] == 0]
    target = data.draw(st.sampled_from(targets))
    start = captured_start(system, target, iterations=iterations).start
    assert end(system, start) == (iterations, target)


@given(long_systems, seeds)
def test_almost_every_start_ends_in_the_worst_cycle(system, seed):
    # Theorem 2 (3), simulated: uniform starts miss the exceptional set, which has measure zero.
    # A disturbance of 1e-16 would be there after 37 l0 turns; one that is drawn is far larger.
    only = system.workload.classes[0]
    l0, l1 = only.input_length, only.decode_length
    starts = fk.uniform_starts(jax.random.key(seed), system, count=8)
    found = fk.basins(system, starts, iterations=40 * (l0 + l1) * l1)
    assert found.name.values.tolist() == ["maximal-eviction cycle"]
    assert found.starts.values.tolist() == [8]
    # its throughput, by the formula and over a turn of the final states
    worst = float(system.capacity) / (l1 * (l0 + l1))
    assert found.rate.item() == pytest.approx(worst, rel=1e-12)


@given(long_systems, st.data())
def test_the_worst_cycle_completes_what_one_full_last_stage_holds(system, data):
    # Section 3.2: M / (l1 (l0 + l1)), and (2 l0 + l1 + 1) / (2 (l0 + l1)) of x*, between 1/2 and 1.
    only = system.workload.classes[0]
    l0, l1 = only.input_length, only.decode_length
    start = [Fraction(0)] * l1
    stage = data.draw(st.integers(0, l1 - 1))
    start[stage] = system.capacity / (l0 + 1 + stage)
    turn = list(islice(iterates(system, [start]), l1 + 1))
    assert turn[-1] == turn[0]
    throughput = Fraction(sum(rows[0][-1] for rows in turn[1:])) / l1
    assert throughput == system.capacity / (l1 * (l0 + l1))
    best = fk.eviction_free_equilibrium(system).rate
    assert throughput / best == Fraction(2 * l0 + l1 + 1, 2 * (l0 + l1))
    assert Fraction(1, 2) < throughput / best < 1


def test_with_one_stage_the_fixed_point_is_stable():
    # l1 = 1, excluded by the theorem: there is one state on the boundary.
    system = one_class(3, 1, 12)
    assert iterate(system, [[Fraction(3)]]).state == [[3]]
    assert cycle_stability(system, (1,)).verdict is Stability.STABLE
