"""The winding certificate, against ball arithmetic, exact counts and a tampered covering."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, arb_poly, fmpz_poly
from flint import ctx as flint_context
from hypothesis import example, given
from hypothesis import strategies as st

from fluidkv.exact.roots import winding
from fluidkv.exact.roots.polynomial import count_inside, count_on_circle, split_reciprocal
from fluidkv.exact.roots.winding import Series, close_certificate, count_outside

weights = st.lists(st.integers(1, 10**6), min_size=1, max_size=60)


def outside_exactly(descending: list[int], radius: Fraction) -> int | None:
    """Roots of sum V_s z^{n-s} outside |z| = radius in integers; None with a root on the circle."""
    n = len(descending) - 1
    p, q = radius.numerator, radius.denominator
    # z = radius * y: coefficients V_s (p/q)^{n-s}, cleared of q^n
    scaled = fmpz_poly([v * p ** (n - s) * q**s for s, v in enumerate(descending)][::-1])
    common, rest = split_reciprocal(scaled)
    if count_on_circle(common) > 0:
        return None
    # off the circle, the common part holds pairs {z, 1/z}: one of each lies outside
    return rest.degree() - count_inside(rest) + common.degree() // 2


@given(weights, st.sampled_from([0.5, 0.9, 0.99, 1.0, 1.01, 1.25, 2.0]))
@example([1, 3, 1], 1.0)  # a pair {z, 1/z}
def test_count_equals_the_count_in_integers(descending, inverse_radius):
    certificate = count_outside(descending, inverse_radius=inverse_radius)
    expected = outside_exactly(descending, 1 / Fraction(inverse_radius))
    if certificate is None:
        # allowed only where a root is on the circle or next to it
        assert expected is None or distance_to_circle(descending, inverse_radius) < 1e-9
    else:
        assert certificate.outside == expected


def distance_to_circle(descending: list[int], inverse_radius: float) -> float:
    moduli = np.abs(np.roots(np.array(descending, dtype=float)))
    return float(np.min(np.abs(moduli * inverse_radius - 1)))


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30), st.sampled_from([0.8, 1.0, 1.2]))
def test_signs_of_coefficients_do_not_matter(descending, inverse_radius):
    descending = [descending[0] or 1, *descending[1:-1], descending[-1] or 1]
    certificate = count_outside(descending, inverse_radius=inverse_radius)
    if certificate is not None:
        assert certificate.outside == outside_exactly(descending, 1 / Fraction(inverse_radius))


@pytest.mark.parametrize("degree", [3, 40, 700, 2000])
@pytest.mark.parametrize("inverse_radius", [0.995, 1.0, 1.003])
@pytest.mark.parametrize("halvings", [0, 3])  # the grid and the points between have their own sums
def test_rounding_bound_holds_against_ball_arithmetic(degree, inverse_radius, halvings):
    rng = np.random.default_rng(degree)
    descending = [int(v) for v in rng.integers(1, 2**40, degree + 1)]
    series = Series(descending, inverse_radius)
    covering = series.grid()
    if halvings:
        covering = series.halve(covering.centres[rng.integers(0, 64, 13)], halvings)
    with flint_context.workprec(160):
        for j in range(len(series.rounding_bounds)):
            # sum of V_s (R e^{i theta})^s (s t)^j / j! over max V, in balls at the centre itself
            exact = arb_poly(fmpz_poly([v * s**j for s, v in enumerate(descending)]))
            scale = (arb.pi() / (2 * series.grid_cells * 2**halvings)) ** j
            scale /= math.factorial(j) * max(descending)
            for k in rng.integers(0, len(covering.centres), 12):
                point = acb(arb(float(covering.centres[k]))).exp_pi_i() * arb(inverse_radius)
                value = covering.taylor[j, k]
                error = abs(exact(point) * scale - acb(float(value.real), float(value.imag)))
                assert float(error.upper()) <= series.rounding_bounds[j] * 0.5 ** (halvings * j)
    # and sharp enough to be of use: about 12 d u, d = 2000, relative to the largest value
    assert series.rounding_bounds[0] < 1e-11 * float(np.abs(series.grid().taylor[0]).max())


@pytest.mark.parametrize("degree", [1, 2, 61, 900])
def test_grid_values_equal_values_at_the_same_points(degree):
    rng = np.random.default_rng(degree)
    series = Series([int(v) for v in rng.integers(1, 2**40, degree + 1)], 1.001)
    grid = series.grid()
    anew = series.evaluate(np.exp(1j * math.pi * grid.centres))
    orders = len(series.rounding_bounds)
    assert grid.taylor.shape == anew.shape == (orders, series.grid_cells + 1)
    # each is within the bound of the truth; np.exp is off by less than the bound allows a point
    assert np.all(np.abs(grid.taylor - anew) <= 2 * series.rounding_bounds[:, None])


def test_fill_bounds_the_variation_inside_each_cell():
    rng = np.random.default_rng(7)
    descending = [int(v) for v in rng.integers(1, 10**6, 300)]
    certificate = count_outside(descending, inverse_radius=1.001)
    assert certificate is not None
    covering = certificate.covering
    top = max(descending)
    s = np.arange(len(descending))
    terms = np.array([v / top for v in descending]) * 1.001**s
    for k in rng.integers(0, certificate.cells, 60):
        x = covering.centres[k] + covering.half_widths[k] * rng.uniform(-1, 1, 9)
        values = np.exp(1j * math.pi * np.outer(x, s)) @ terms
        centre = covering.taylor[0, k]
        # 1e-12: the plain sums here are themselves rounded
        assert np.all(
            np.abs(values - centre) <= covering.fill[k] * abs(centre) + 1e-12 * terms.sum()
        )


@pytest.mark.parametrize("halvings", [0, 2, 25])  # at 25 the rounding is 1e-4 of the whole
def test_fill_holds_all_derivatives_the_remainder_and_the_rounding(halvings):
    """The parts of the bound as the module's docstring gives them, term by term."""
    rng = np.random.default_rng(halvings)
    descending = [int(v) for v in rng.integers(-(2**30), 2**30, 700)]
    series = Series(descending, 1.001)
    covering = series.grid()
    if halvings:
        covering = series.halve(covering.centres[rng.integers(1, 64, 9)], halvings)
    s = np.arange(len(descending))
    sizes = np.abs([v / max(map(abs, descending)) for v in descending]) * 1.001**s
    terms = sizes * np.sign(np.array(descending, dtype=float))
    for k in rng.integers(0, len(covering.centres), 9):
        t = math.pi * covering.half_widths[k]
        powers = np.array([(s * t) ** j / math.factorial(j) for j in range(6)])
        derivatives = np.abs(powers[1:5] @ (terms * np.exp(1j * math.pi * covering.centres[k] * s)))
        # (9 s + 51) u is the part of the derivation that does not depend on how sums are split
        rounding = (powers[:5] @ (sizes * (9 * s + 51))).sum() * 2.0**-53
        whole = derivatives.sum() + sizes @ powers[5] + rounding
        # 1e-9: the derivatives are evaluated in plain floats here
        assert covering.fill[k] * abs(covering.taylor[0, k]) >= whole * (1 - 1e-9)


@pytest.mark.parametrize("inside_out", [False, True])
def test_roots_next_to_both_ends_of_the_half_circle_are_counted(inside_out):
    # z = +-1/(1 + 1e-6) or +-(1 + 1e-6): the argument at the end cells is 45 to 65 degrees off
    descending = [(10**6 + 1) ** 2, 0, -(10**12)]
    certificate = count_outside(descending[::-1] if inside_out else descending)
    assert certificate is not None
    assert certificate.outside == (2 if inside_out else 0)


@pytest.mark.parametrize(
    ("descending", "inverse_radius"),
    [
        ([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5], 0.9),
        ([(10**6 + 1) ** 2, 0, -(10**12)], 1.0),  # the end cells are halved
    ],
)
def test_cells_cover_the_half_circle_without_gaps(descending, inverse_radius):
    certificate = count_outside(descending, inverse_radius=inverse_radius)
    assert certificate is not None
    low = certificate.covering.centres - certificate.covering.half_widths
    high = certificate.covering.centres + certificate.covering.half_widths
    assert low[0] <= 0
    assert high[-1] >= 1
    assert np.all(low[1:] <= high[:-1])
    assert certificate.clearance >= 0.1


def test_a_root_on_the_circle_is_not_certified():
    assert count_outside([1, 1]) is None  # z = -1
    assert count_outside([1, 1, 1]) is None  # third roots of unity


def test_roots_at_a_billionth_from_the_circle_are_told_apart():
    # (z + 1 + 1e-9) and (z + 1 - 1e-9)
    for last, expected in ((10**9 + 1, 1), (10**9 - 1, 0)):
        certificate = count_outside([10**9, last])
        assert certificate is not None
        assert certificate.outside == expected


def test_coefficients_beyond_double_range_are_refused_not_guessed():
    assert count_outside([1] * 2000, inverse_radius=4.0) is None


@pytest.mark.parametrize("inverse_radius", [1e3, 1e4, 1e5])
def test_values_beyond_the_square_root_of_double_range_are_counted(inverse_radius):
    """All roots of 1 + z + ... + z^59 are on the unit circle; G reaches 1e295 here."""
    certificate = count_outside([1] * 60, inverse_radius=inverse_radius)
    assert certificate is not None
    assert certificate.outside == 59


def test_weights_that_underflow_are_refused_on_a_circle_that_enlarges_them():
    assert count_outside([10**320, 1]) is not None
    assert count_outside([10**320, 1], inverse_radius=2.0) is None


def test_a_cell_whose_fill_is_not_a_number_does_not_pass():
    series = Series([3, 1, 4, 1, 5])
    grid = series.grid()
    assert close_certificate(series, grid) is not None
    fill = grid.fill.copy()
    fill[7] = np.nan
    certificate = close_certificate(series, replace(grid, fill=fill))
    assert certificate is not None
    assert certificate.cells == len(fill) + 1  # halved


@pytest.mark.thorough
def test_count_at_degree_20000_equals_that_of_the_polynomial_it_is_made_of():
    """P(z^m) has m roots outside the circle for each of P's."""
    small = [7, -3, 9, 2, -8, 4, 1, -6, 5, 3, 8]
    m = 2000
    large = [0] * (m * (len(small) - 1) + 1)
    large[::m] = small
    certificate = count_outside(large)
    assert certificate is not None
    assert certificate.outside == m * (outside_exactly(small, Fraction(1)) or 0)


def test_a_circle_among_thousands_of_roots_is_given_up_in_bounded_work(monkeypatch):
    """Above the degree at which cells made by halving are dear: few of them, or no certificate."""
    descending = [1 + s for s in range(70)] + [9 * (1 + s) for s in range(70, 100)]
    # near the modulus round which the roots stand
    series = winding.Series(descending, (descending[0] / descending[-1]) ** (1 / 99) * 0.99)
    grid = series.grid()
    assert (grid.fill > 0.9).any()
    usual = winding.close_certificate(series, grid)
    assert usual is not None
    monkeypatch.setattr(winding, "HIGH_DEGREE", 98)
    assert winding.close_certificate(series, grid) is not None
    assert winding.close_certificate(series, grid, most_work=99) is None
    monkeypatch.setattr(winding, "HIGH_DEGREE", 99)
    assert winding.close_certificate(series, grid, most_work=99) is not None
