"""The return map: what the literal model does to a small deviation, and where its spectrum lies."""

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.exact.mass import iterates
from fluidkv.exact.one_class.cycles import balanced_cycle
from fluidkv.exact.one_class.gaps import gap_vectors
from fluidkv.exact.one_class.return_map import (
    MOST_LIVE,
    block_matrix,
    cycle_stability,
    multiplier_polynomial,
    return_matrix,
)
from fluidkv.exact.roots.polynomial import characteristic_polynomial, count_outside_and_on
from fluidkv.exact.roots.spectrum import certify_spectrum
from fluidkv.exact.survival import survival_weights
from fluidkv.verdict import Evidence, Stability
from tests.small_systems import one_class
from tests.strategies import homogeneous_systems, systems_with_gaps


def system_of(l0, l1):
    return one_class(l0, l1, 1000 * (l0 + l1))


def applied(matrix, vector):
    column = fmpq_mat([[fmpq(x.numerator, x.denominator)] for x in vector])
    image = matrix * column
    return [Fraction(int(image[h, 0].p), int(image[h, 0].q)) for h in range(len(vector))]


@given(systems_with_gaps(decode_lengths=st.integers(2, 8)), st.data())
def test_a_small_deviation_returns_as_the_matrix_says(system_and_gaps, data):
    """Exactly, in the literal model: near the cycle the map is linear on the live positions."""
    system, gaps = system_and_gaps
    cycle = balanced_cycle(system, gaps)
    gaps, l0 = cycle.gaps, system.workload.classes[0].input_length
    end = cycle.states[gaps[0] - 1]
    live = [j for j, x in enumerate(end) if x > 0]
    drawn = st.lists(st.integers(-5, 5), min_size=len(live), max_size=len(live))
    deviation = [Fraction(x) for x in data.draw(drawn)]
    # The last entry keeps memory full.
    held = sum((l0 + 1 + j) * d for j, d in zip(live[:-1], deviation[:-1], strict=True))
    deviation[-1] = -held / Fraction(l0 + 1 + live[-1])
    size = cycle.throughput / 10**9
    start = list(end)
    for j, d in zip(live, deviation, strict=True):
        start[j] += size * d
    (returned,) = next(islice(iterates(system, [start]), cycle.period, None))
    found = [(returned[j] - end[j]) / size for j in live]
    assert found == applied(return_matrix(system, gaps), deviation)
    assert all(returned[j] == 0 for j in range(len(end)) if j not in live)


@given(systems_with_gaps(decode_lengths=st.integers(2, 8)), st.data())
def test_a_small_mass_at_an_empty_position_is_gone_after_one_circuit(system_and_gaps, data):
    system, gaps = system_and_gaps
    cycle = balanced_cycle(system, gaps)
    state = list(data.draw(st.sampled_from(cycle.states)))
    weights = [system.workload.classes[0].input_length + 1 + j for j in range(len(state))]
    empty = [j for j, x in enumerate(state) if x == 0]
    oldest = max(j for j, x in enumerate(state) if x > 0)
    if not empty:
        return
    j = data.draw(st.sampled_from(empty))
    mass = cycle.throughput / 10**6
    state[j] += mass
    state[oldest] -= mass * Fraction(weights[j], weights[oldest])  # memory stays full
    (after,) = next(islice(iterates(system, [state]), sum(gaps), None))
    assert [x > 0 for x in after] == [
        j_ != j and x > 0 for j_, x in enumerate(state)
    ]  # the others are where they were


@given(homogeneous_systems)
def test_multipliers_of_the_fixed_point_are_the_roots_of_f(system):
    weights = survival_weights(system.workload)
    f = characteristic_polynomial(weights)
    gaps = (1,) * system.workload.longest_decode
    assert multiplier_polynomial(system, gaps) == f // f.content()
    found = cycle_stability(system, gaps)
    certificate = certify_spectrum(weights)
    assert (found.outside or 0, found.on_circle or 0) == (
        certificate.outside,
        certificate.on_circle,
    )
    if found.radius is not None:
        low, high = certificate.radius
        assert found.radius[0] <= high
        assert low <= found.radius[1]


@given(systems_with_gaps())
def test_the_return_map_keeps_memory(system_and_gaps):
    """Left eigenvector: tokens by live position."""
    system, gaps = system_and_gaps
    matrix = return_matrix(system, gaps)
    l0 = system.workload.classes[0].input_length
    tokens = fmpq_mat([[l0 + sum(gaps[: h + 1]) for h in range(len(gaps))]])
    assert tokens * matrix == tokens


@given(systems_with_gaps(decode_lengths=st.integers(2, 9)))
def test_multipliers_do_not_depend_on_where_the_circuit_starts(system_and_gaps):
    system, gaps = system_and_gaps
    turned = gaps[1:] + gaps[:1]
    assert multiplier_polynomial(system, gaps) == multiplier_polynomial(system, turned)


@given(systems_with_gaps(decode_lengths=st.integers(2, 9)))
def test_enclosures_agree_with_eigenvalues_in_floats(system_and_gaps):
    system, gaps = system_and_gaps
    found = cycle_stability(system, gaps)
    if found.multipliers == 0:
        assert (found.radius, found.growth) == (None, None)
        return
    matrix = return_matrix(system, found.gaps)
    rows = [[float(int(x.p)) / float(int(x.q)) for x in row] for row in matrix.tolist()]
    moduli = sorted(np.abs(np.linalg.eigvals(np.array(rows))))
    assert found.radius is not None
    assert found.growth is not None
    # A defective eigenvalue of multiplicity up to 8 costs the float route all but two digits.
    assert max(moduli) == pytest.approx(found.radius[0], rel=2e-2)
    assert found.radius[0] <= found.radius[1] <= found.radius[0] * (1 + 1e-14)
    period = balanced_cycle(system, gaps).period
    assert found.growth[0] ** period == pytest.approx(found.radius[0], rel=1e-13)


@pytest.mark.parametrize("l0", [1, 2, 5, 20, 300])
def test_every_multiplier_of_every_cycle_is_outside(l0):
    """Theorem 2 (1) and (2), linearised: all gap vectors up to l1 = 9, counted in integers."""
    for l1 in range(1, 10):
        system = system_of(l0, l1)
        for gaps in gap_vectors(l1):
            counted = count_outside_and_on(multiplier_polynomial(system, gaps))
            assert counted == (len(gaps) - 1, 0), gaps


@given(systems_with_gaps())
def test_multipliers_have_the_product_of_the_determinants(system_and_gaps):
    system, gaps = system_and_gaps
    found = cycle_stability(system, gaps)
    polynomial = multiplier_polynomial(system, gaps)
    once = Fraction(int(polynomial.coeffs()[0]), int(polynomial.coeffs()[-1]))
    circuits = sum(gaps) // balanced_cycle(system, gaps).period
    assert abs(once) ** circuits == found.expansion
    assert (found.expansion > 1) == (len(gaps) > 1)


def test_verdicts():
    system = system_of(5, 9)
    found = cycle_stability(system, (4, 1, 3, 1))
    assert (found.verdict, found.evidence) == (Stability.UNSTABLE, Evidence.EXACT)
    assert (found.multipliers, found.outside, found.on_circle) == (3, 3, 0)
    maximal = cycle_stability(system, (9,))
    assert (maximal.verdict, maximal.multipliers, maximal.expansion) == (Stability.STABLE, 0, 1)


def test_many_live_positions_are_unstable_without_a_count():
    gaps = (2,) + (1,) * MOST_LIVE
    found = cycle_stability(system_of(5, sum(gaps)), gaps)
    assert found.verdict is Stability.UNSTABLE
    assert found.expansion > 1
    assert (found.outside, found.on_circle, found.radius, found.growth) == (None,) * 4


def test_block_matrix_is_equation_16():
    matrix = block_matrix(2, (3, 1, 2))  # l0 + g = 4, l0 + l1 = 8
    assert matrix == fmpq_mat(
        [[fmpq(-1, 2), fmpq(-1, 2), fmpq(2)], [fmpq(1), 0, 0], [0, fmpq(1), 0]]
    )


def test_bad_gaps_are_refused():
    with pytest.raises(InputError, match=r"^gaps: got \(3, 3\); allowed: .* not to 6$"):
        cycle_stability(system_of(2, 5), (3, 3))
    with pytest.raises(InputError, match=r"^gaps: "):
        multiplier_polynomial(system_of(2, 5), ())


def test_an_expansion_that_no_float_holds():
    # The fixed point of 400 stages: the product of (5 + 400)/(5 + 1), 400 times, is 67.5^400.
    found = cycle_stability(one_class(5, 400, 1000), (1,) * 400)
    assert found.verdict is Stability.UNSTABLE
    assert found.expansion == Fraction(135, 2) ** 400
    assert "about 10^732" in found.reason
