"""Congestion, Proposition 25: the gap of the limit is c(theta_n, p) n^-3 + O(n^-4).

The constant K_gap exists for each p; how large it is and where it is attained is in the ledger,
congestion.proposition-25.gap. Here the two-sided statement on long pairs, and the stronger order.
"""

import math
from fractions import Fraction

import pytest
import sympy
from hypothesis import assume, given
from hypothesis import strategies as st

from fluidkv_papers.congestion.claims.mixed.gap_exponents import gap, upper_bound
from fluidkv_papers.congestion.claims.mixed.spectral_gap import phase_series
from fluidkv_papers.congestion.instances.coprime_pairs import c, middle

MODERATE = st.fractions(Fraction(1, 10), Fraction(6, 10), max_denominator=20)


def error(a, n, p):
    return abs(middle(a, n, p) - c(a / n, p) / n**3)


def quartic(p):
    """sup over theta of |mu_4| (2 pi)^4, theta in fiftieths: the coefficient of n^-5."""
    series = sympy.lambdify(sympy.symbols("p D", real=True), phase_series()[3])
    q = 1 - float(p)
    return max(abs(series(float(p), q + float(p) * t / 50)) for t in range(51)) * (2 * math.pi) ** 4


@given(st.data(), st.integers(40, 90), MODERATE)
def test_error_is_of_order_n_to_the_minus_five_uniformly_over_pairs(data, n, p):
    # Half as much again is left for the terms after mu_4.
    a = data.draw(st.integers(1, n - 1))
    assume(math.gcd(a, n) == 1)
    assert error(a, n, p) <= 1.5 * quartic(p) / n**5


@pytest.mark.parametrize("p", [Fraction(1, 10), Fraction(1, 2)])
@pytest.mark.parametrize("n", [16, 25, 40])
def test_error_falls_by_more_than_sixteen_when_the_pair_doubles(n, p):
    # O(n^-4) as printed asks for a factor 16 in the end; n^-5 for 32.
    assert error(2 * n - 1, 2 * n, p) < error(n - 1, n, p) / 16


@given(st.data(), st.integers(20, 60), MODERATE)
def test_for_two_classes_the_lattice_bound_is_the_gap_itself(data, n, p):
    # gamma_1 = 1, and the minimum over a lattice in one dimension is its covolume squared.
    a = data.draw(st.integers(1, n - 1))
    assume(math.gcd(a, n) == 1)
    assert upper_bound((a, n), (p, 1 - p)) == pytest.approx(c(a / n, p) / n**3, rel=1e-12)


@given(st.data(), st.sampled_from((3, 4)), st.integers(200, 600))
def test_gap_of_any_lengths_is_below_the_lattice_bound(data, classes, n):
    # To leading order; phases are up to 2 pi n^(-1/(K-1)), so a tenth is left for what follows.
    drawn = st.sets(st.integers(1, n - 1), min_size=classes - 1, max_size=classes - 1)
    lengths = (*sorted(data.draw(drawn)), n)
    assume(math.gcd(*lengths) == 1)
    shares = (Fraction(1, classes),) * classes
    assert gap(lengths, shares) <= 1.1 * upper_bound(lengths, shares)
