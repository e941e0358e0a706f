"""Congestion, Lemma 1 (worst-case throughput), with inequalities (40) and (42) of its proof.

The lemma speaks of every limit cycle. Inequality (40) is about any l1 consecutive iterations of any
trajectory on the memory boundary, so it needs no list of cycles; summed over a period it is the
lemma. Exact arithmetic; the cases are a sample.

No counterexample is known: (40) and (42) hold as printed for every start that was tried, eviction
or not, also with l1 = 1.
"""

from fractions import Fraction
from itertools import islice

import pytest
from hypothesis import example, given, target
from hypothesis import strategies as st

from fluidkv.exact.mass import iterates
from fluidkv.exact.one_class.cycles import balanced_cycle, maximal_eviction_cycle
from fluidkv.exact.one_class.gaps import gap_vectors
from fluidkv.exact.one_class.return_map import multiplier_polynomial
from fluidkv.exact.roots.polynomial import count_outside_and_on
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import (
    homogeneous_systems,
    systems_with_gaps,
    systems_with_states,
)

SMALL = System(Workload((RequestClass(2, 3),)), Fraction(24))

one_class = systems_with_states(systems=homogeneous_systems)


def windows(system, state, iterations):
    """For t = 0, 1, ...: X^t, and what completes in the l1 iterations from t on."""
    l1 = system.workload.longest_decode
    states = [s[0] for s in islice(iterates(system, state), iterations + l1)]
    completed = [s[-1] for s in states]
    return [(states[t], sum(completed[t : t + l1])) for t in range(iterations)]


@given(one_class, st.integers(1, 12))
@example((SMALL, [[Fraction(0), Fraction(0), Fraction(24, 5)]]), 6)  # equality: maximal eviction
@example((SMALL, [[Fraction(5, 2), Fraction(2), Fraction(17, 10)]]), 20)  # through the cascade
def test_every_l1_iterations_complete_what_memory_holds_at_the_last_stage(
    system_and_state, iterations
):
    system, state = system_and_state
    least = system.capacity / system.workload.largest_footprint
    fewest = min(completed for _, completed in windows(system, state, iterations))
    target(-float(fewest / least), label="fewest completions in a window")
    assert fewest >= least


@given(one_class, st.integers(1, 12))
def test_a_window_completes_more_where_some_complete_and_others_are_left(
    system_and_state, iterations
):
    # Inequality (42): y_t > 0 and more requests than m make the window strict.
    system, state = system_and_state
    least = system.capacity / system.workload.largest_footprint
    for at, completed in windows(system, state, iterations):
        if at[-1] > 0 and sum(at) > least:
            assert completed > least


@given(systems_with_gaps())
def test_balanced_cycles_complete_no_less_and_only_the_maximal_one_as_little(system_and_gaps):
    system, gaps = system_and_gaps
    only = system.workload.classes[0]
    worst = system.capacity / (only.decode_length * only.peak_footprint)
    found = balanced_cycle(system, gaps).throughput
    assert found >= worst
    assert (found == worst) == (len(gaps) == 1)
    assert maximal_eviction_cycle(system).throughput == worst


@given(systems_with_gaps())
def test_there_is_no_limit_cycle_besides_the_balanced_ones(system_and_gaps):
    # A position once empty stays so (Lemma A.3): a periodic orbit keeps its gaps and follows the
    # linear map (16). A second one with these gaps would need a root of unity as a multiplier.
    system, gaps = system_and_gaps
    assert count_outside_and_on(multiplier_polynomial(system, gaps))[1] == 0


@pytest.mark.parametrize("l0", [1, 3, 10, 100])
def test_no_cycle_of_a_longer_pipeline_completes_less(l0):
    for l1 in range(10, 15):
        system = System(Workload((RequestClass(l0, l1),)), Fraction(3 * (l0 + l1)))
        for gaps in gap_vectors(l1):
            found = balanced_cycle(system, gaps).throughput
            assert found >= Fraction(3, l1)
            assert (found == Fraction(3, l1)) == (len(gaps) == 1)
            assert count_outside_and_on(multiplier_polynomial(system, gaps)) == (len(gaps) - 1, 0)
