"""Pulse cycles and periodic orbits: closed forms against the literal model, in every direction."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from flint import fmpq, fmpq_mat, fmpz_poly
from hypothesis import given
from hypothesis import strategies as st

from fluidkv import exact
from fluidkv.errors import InputError
from fluidkv.exact.mass import iterate
from fluidkv.exact.mixed.cycles.orbits import CohortMap, OrbitSearch, OrbitStatus, periodic_orbit
from fluidkv.exact.mixed.cycles.pulse import (
    compressed_weights,
    pulse_cycle,
    residue_memory,
    verify_pulse_cycle,
)
from fluidkv.exact.mixed.cycles.pulse_stability import (
    multiplier_polynomial,
    pulse_stability,
    return_map,
)
from fluidkv.exact.mixed.mix import LengthMix, two_lengths
from fluidkv.exact.one_class.cycles import balanced_cycle
from fluidkv.exact.one_class.gaps import gap_vectors
from fluidkv.exact.roots.polynomial import characteristic_polynomial, count_outside_and_on
from fluidkv.exact.survival import eviction_free_equilibrium, survival_weights
from fluidkv.workload import System
from tests.strategies import cohort_profiles, gap_compositions, systems, workloads

HALF = Fraction(1, 2)
EXAMPLE_12 = System(two_lengths(2, 4, HALF).workload(50), 626)


@st.composite
def pulsed_systems(draw):
    """One to four classes of any inputs, all decode lengths multiples of some g of 2 to 4."""
    g = draw(st.integers(2, 4))
    decodes = st.integers(1, 3).map(lambda n: n * g)
    return draw(systems(workloads=workloads(decode_lengths=decodes)))


@st.composite
def systems_with_balanced_cycles(draw):
    system = draw(pulsed_systems())
    return system, pulse_cycle(system, draw(gap_compositions(system.workload.decode_gcd)))


def literal_derivative(system, start, iterations, size):
    """Column i: what the literal model makes of `size` more mass at age i, over `size`."""
    dynamics = CohortMap(system)

    def after(state):
        masses = dynamics.masses(state)
        for _ in range(iterations):
            masses = iterate(system, masses).state
        longest = max(range(len(masses)), key=lambda k: len(masses[k]))
        return [x / system.workload.classes[longest].share for x in masses[longest]]

    base = after(start)
    columns = []
    for i in range(len(start)):
        pushed = list(start)
        pushed[i] += size
        moved = after(pushed)
        columns.append([(b - a) / size for a, b in zip(base, moved, strict=True)])
    return [list(row) for row in zip(*columns, strict=True)]


def test_throughput_of_example_12():
    cycle = pulse_cycle(EXAMPLE_12)
    assert cycle.throughput == Fraction(313, 79)
    assert (cycle.period, cycle.pulses, cycle.generations) == (2, 1, 2)
    assert cycle.leading_masses == (Fraction(10955, 1343), cycle.settled_mass)
    assert cycle.evicted == Fraction(313, 1343)
    assert cycle.share_of_best == Fraction(313, 316)
    assert verify_pulse_cycle(cycle)


@given(systems_with_balanced_cycles())
def test_every_balanced_cycle_closes_in_the_literal_model(case):
    _, cycle = case
    assert verify_pulse_cycle(cycle)


@given(systems_with_balanced_cycles())
def test_verification_notices_a_wrong_throughput(case):
    _, cycle = case
    assert not verify_pulse_cycle(replace(cycle, throughput=cycle.throughput * Fraction(999, 1000)))


@given(pulsed_systems())
def test_gaps_of_one_are_the_eviction_free_equilibrium(system):
    cycle = pulse_cycle(system, (1,) * system.workload.decode_gcd)
    assert cycle.throughput == eviction_free_equilibrium(system).rate
    assert (cycle.period, cycle.evicted) == (1, 0)
    assert set(cycle.states[0]) == {cycle.throughput}


@given(systems(workloads=workloads(max_classes=1, decode_lengths=st.integers(2, 7))))
def test_one_class_has_its_balanced_cycles(system):
    for gaps in gap_vectors(system.workload.longest_decode):
        ours, theirs = pulse_cycle(system, gaps), balanced_cycle(system, gaps)
        assert ours.throughput == theirs.throughput
        assert ours.states == theirs.states


@given(pulsed_systems())
def test_fewer_and_larger_pulses_carry_less(system):
    rates = [pulse_cycle(system, (u,) * (g // u)).throughput for g, u in _even_gaps(system)]
    assert rates == sorted(set(rates), reverse=True)


def _even_gaps(system):
    g = system.workload.decode_gcd
    return [(g, u) for u in range(1, g + 1) if g % u == 0]


@given(pulsed_systems())
def test_compressed_weights_are_those_of_lengths_divided_by_g(system):
    g = system.workload.decode_gcd
    # l0_k / g need not be whole, so the divided mix is written out
    shrunk = [
        sum(
            c.share * (Fraction(c.input_length, g) + 1 + m)
            for c in system.workload.classes
            if c.decode_length // g > m
        )
        for m in range(system.workload.longest_decode // g)
    ]
    weights = compressed_weights(system)
    assert [Fraction(v, weights.denominator) / g for v in weights.memory] == shrunk


@given(pulsed_systems())
def test_residue_memory_is_affine(system):
    w = residue_memory(system)
    assert len({b - a for a, b in pairwise(w)}) == 1
    assert sum(w) == survival_weights(system.workload).lifetime_memory


@pytest.mark.parametrize(
    ("lengths", "share", "input_length"),
    [((2, 4), HALF, 50), ((4, 6), Fraction(1, 3), 5), ((6, 9), Fraction(1, 5), 2)],
)
def test_multipliers_are_roots_of_the_compressed_polynomial(lengths, share, input_length):
    cycle = pulse_cycle(
        System(two_lengths(lengths[0], lengths[1], share).workload(input_length), 500)
    )
    compressed = characteristic_polynomial(compressed_weights(cycle.system))
    assert multiplier_polynomial(cycle) == compressed // compressed.content()


@given(systems_with_balanced_cycles())
def test_the_map_once_round_is_that_of_the_literal_model(case):
    """In every direction that adds mass, also at ages that the cycle leaves empty."""
    system, cycle = case
    start = cycle.states[0]
    dynamics = CohortMap(system)
    around = [*cycle.states[1:], start]
    fronts = [next(age for age, y in enumerate(state) if y) for state in around]
    derivative = dynamics.derivative(fronts)
    # Affine as long as no front moves: small against every mass on the cycle and every loss.
    masses = [y for state in cycle.states for y in state if y]
    losses = [a - b for a, b in pairwise(cycle.leading_masses)]
    size = min([*masses, *(x for x in losses if x > 0)]) / 10**6
    # memory may not exceed capacity, so the start is lower by what is added
    lowered = list(start)
    youngest = next(age for age, y in enumerate(start) if y)
    lowered[youngest] -= size * max(dynamics.weights) / dynamics.weights[youngest]
    found = literal_derivative(system, lowered, cycle.period, size)
    d = len(start)
    exact = [[Fraction(int(derivative[i, j].p), int(derivative[i, j].q)) for j in range(d)]
             for i in range(d)]  # fmt: skip
    assert found == exact


def test_return_map_of_example_12():
    matrix, ages = return_map(pulse_cycle(EXAMPLE_12))
    v = survival_weights(EXAMPLE_12.workload).memory
    assert ages == (0, 2)
    assert matrix == fmpq_mat(
        [[fmpq(0), fmpq(v[2] * v[3], v[0] * v[1])], [fmpq(0), -fmpq(v[3], v[1])]]
    )


@pytest.mark.parametrize(
    ("share", "verdict"),
    [("2/5", "neutral"), ("401/1000", "stable"), ("399/1000", "unstable")],
)
def test_the_verdict_turns_at_the_boundary_of_example_12(share, verdict):
    share = Fraction(share)
    # l0 = 1: q < 3/5, so p > 2/5
    found = pulse_stability(pulse_cycle(System(two_lengths(2, 4, share).workload(1), 60)))
    assert found.verdict == verdict
    low, high = found.radius
    assert low <= Fraction(5, 3) * (1 - share) <= high


def test_only_the_pulse_attracts_among_the_balanced_cycles_of_6_and_12():
    system = System(two_lengths(6, 12, HALF).workload(60), 500)
    found = {g: pulse_stability(pulse_cycle(system, g)).verdict for g in gap_vectors(6)}
    assert [g for g, verdict in found.items() if verdict == "stable"] == [(6,)]
    assert set(found.values()) == {"stable", "unstable"}


def test_two_routes_to_the_multipliers_of_the_equilibrium():
    mix = LengthMix((4, 8, 12), (Fraction(1, 5), Fraction(2, 5)))
    cycle = pulse_cycle(System(mix.workload(6), 200), (1, 1, 1, 1))
    polynomial = multiplier_polynomial(cycle)
    weights = characteristic_polynomial(mix.weights(6))
    assert polynomial == weights // weights.content()


@given(st.data())
def test_the_cohort_map_is_the_literal_model(data):
    system = data.draw(systems())
    state = tuple(data.draw(cohort_profiles(system)))
    dynamics = CohortMap(system)
    for _ in range(4):
        step = iterate(system, dynamics.masses(state))
        front, following = dynamics.step(state)
        assert step.state == dynamics.masses(following)
        assert sum(step.completed) == dynamics.completed(state)
        assert (sum(step.admitted) > 0) == (front == 0 and following[0] > 0)
        state = following


def test_an_orbit_of_period_four_where_the_pulse_repels():
    # l0 = 1, q = 4/5 > 3/5: the floats of a simulation lead to it, rationals prove it.
    system = System(two_lengths(2, 4, Fraction(1, 5)).workload(1), 18)
    orbit = periodic_orbit(system, [0.0, 0.0, 3.6, 0.0], period=8).orbit
    assert orbit is not None
    assert orbit.period == 4
    assert orbit.attracts
    for state, following in pairwise([*orbit.states, orbit.states[0]]):
        assert CohortMap(system).step(state)[1] == following
    assert orbit.throughput < pulse_cycle(system).throughput


def test_a_cycle_that_is_found_again_as_an_orbit():
    cycle = pulse_cycle(EXAMPLE_12)
    orbit = periodic_orbit(EXAMPLE_12, [float(y) for y in cycle.states[0]], period=6).orbit
    assert orbit is not None
    assert orbit.states == cycle.states
    assert orbit.throughput == cycle.throughput
    assert orbit.attracts
    assert orbit.multiplier_polynomial == multiplier_polynomial(cycle)


def test_a_continuum_of_orbits_is_not_an_orbit():
    # The pulse of l0 = 1, q = 3/5 is neutral with multiplier -1: all states near by have period 4.
    system = System(two_lengths(2, 4, Fraction(2, 5)).workload(1), 60)
    start = pulse_cycle(system).states[0]
    assert periodic_orbit(system, start, period=4) == OrbitSearch(OrbitStatus.SINGULAR)
    assert periodic_orbit(system, start, period=2).status == OrbitStatus.FOUND


def test_fronts_without_an_orbit_of_their_own_are_no_orbit():
    # The first front of the pulse alone has a fixed point, from which the map leads elsewhere.
    start = pulse_cycle(EXAMPLE_12).states[0]
    assert CohortMap(EXAMPLE_12).step(start)[0] == 1
    assert periodic_orbit(EXAMPLE_12, start, period=1) == OrbitSearch(OrbitStatus.OTHER_FRONTS)


def test_a_fixed_point_with_a_negative_mass_is_no_orbit():
    system = System(two_lengths(3, 6, Fraction(2, 5)).workload(5), 60)
    found = periodic_orbit(system, [0, 1, 1, 2, 1, 2], period=6)
    assert found == OrbitSearch(OrbitStatus.NEGATIVE)


def test_a_stage_that_is_emptied_exactly_is_the_front():
    # 1 request of age 0 is to go, as the two others hold all of M at their next ages
    dynamics = CohortMap(EXAMPLE_12)
    share = dynamics.capacity / (dynamics.weights[2] + dynamics.weights[3])
    front, after = dynamics.step((Fraction(1), share, share, Fraction(0)))
    assert (front, after) == (1, (0, 0, share, share))


def test_an_orbit_where_a_front_may_move_says_nothing_of_the_states_near_by():
    cycle = pulse_cycle(EXAMPLE_12)
    orbit = periodic_orbit(EXAMPLE_12, cycle.states[0], period=2).orbit
    assert orbit is not None
    assert (orbit.fronts, orbit.strict, orbit.attracts) == ((1, 0), True, True)
    first, second = orbit.states
    emptied = replace(orbit, states=(first, (second[0], Fraction(0), *second[2:])))
    untouched = replace(orbit, states=(first, (second[0], first[0], *second[2:])))
    nothing_admitted = replace(orbit, states=((Fraction(0), *first[1:]), second))
    for touching in (emptied, untouched, nothing_admitted):
        assert not touching.strict
        assert touching.attracts is None


def test_pairs_of_roots_that_mirror_each_other_count_once_outside():
    half_and_two = fmpz_poly([2, -5, 2])
    assert count_outside_and_on(half_and_two) == (1, 0)
    assert count_outside_and_on(half_and_two * half_and_two * fmpz_poly([1, 1])) == (2, 1)
    assert count_outside_and_on(half_and_two * fmpz_poly([3, 1])) == (2, 0)


@pytest.mark.parametrize(
    ("gaps", "message"),
    [((1, 2), "positive integers that sum to 2"), ((0, 2), "positive"), ((), "positive")],
)
def test_gaps_must_sum_to_the_divisor(gaps, message):
    with pytest.raises(InputError, match=message):
        pulse_cycle(EXAMPLE_12, gaps)


def test_what_is_no_system_gets_one_line():
    mix = two_lengths(2, 4, Fraction(1, 2))
    with pytest.raises(InputError, match=r"^system: got LengthMix.*allowed: a System"):
        exact.pulse_cycle(mix)  # pyright: ignore[reportArgumentType]


def test_coprime_lengths_have_no_pulse():
    with pytest.raises(InputError, match="coprime"):
        pulse_cycle(System(two_lengths(2, 3, HALF).workload(50), 626))


@pytest.mark.parametrize(
    ("near", "period"), [([1.0] * 3, 2), ([0.0] * 4, 2), ([1.0, -1, 1, 1], 2), ([1.0] * 4, 0)]
)
def test_bad_starts_of_an_orbit(near, period):
    with pytest.raises(InputError):
        periodic_orbit(EXAMPLE_12, near, period=period)
