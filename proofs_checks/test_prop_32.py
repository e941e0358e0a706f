"""Congestion, Proposition 32 and Corollary 33: the map once round the pulse cycle.

Checked in all directions that a state has, also where the cycle has no mass: those add zero
eigenvalues. "One exact zero eigenvalue" counts on the ages that carry mass.
"""

from itertools import pairwise

from hypothesis import given

from fluidkv.exact.mixed.cycles.orbits import CohortMap, periodic_orbit
from fluidkv.exact.mixed.cycles.pulse import pulse_cycle
from fluidkv.exact.mixed.cycles.pulse_stability import (
    printed_compressed_polynomial,
    pulse_stability,
    return_map,
)
from proofs_checks.test_prop_31 import pairs_with_divisor


@given(pairs_with_divisor())
def test_the_return_map_has_one_zero_and_the_roots_of_35(case):
    from flint import fmpq, fmpq_poly

    system, a, b, g, q, l0 = case
    matrix, ages = return_map(pulse_cycle(system))
    assert ages == tuple(range(0, b, g))
    descending = printed_compressed_polynomial((a, b), l0, q)
    ascending = [fmpq(c.numerator, c.denominator) for c in reversed(descending)]
    assert matrix.charpoly() == fmpq_poly([fmpq(0), *ascending]) / ascending[-1]
    assert ascending[0] != 0  # so 0 is simple


@given(pairs_with_divisor())
def test_the_cycle_attracts_in_all_directions_exactly_if_35_is_schur_stable(case):
    system = case[0]
    cycle = pulse_cycle(system)
    orbit = periodic_orbit(system, cycle.states[0], period=cycle.period).orbit
    assert orbit is not None
    assert orbit.attracts is (pulse_stability(cycle).verdict == "stable")


@given(pairs_with_divisor())
def test_mass_at_other_ages_is_gone_after_the_longer_decode(case):
    """A little mass in the next position is never renewed: it completes or is evicted."""
    system, _, b, g, _, _ = case
    cycle, dynamics = pulse_cycle(system), CohortMap(system)
    state = list(cycle.states[0])
    drops = [x - y for x, y in pairwise(cycle.leading_masses)]
    tiny = min([*cycle.leading_masses, *drops]) / 10**6
    state[1] += tiny
    state[0] -= tiny * dynamics.weights[1] / dynamics.weights[0]
    for _ in range(b):
        _, state = dynamics.step(state)
    assert [age for age, y in enumerate(state) if y] == list(range(0, b, g))
