"""Congestion, Lemma 23: multiple roots of P_n are at least c_p / n inside the unit circle.

They are double, negative, and exist for even a at exactly one p; the lemma holds with N_p as small
as it can be. That multiple roots are not dominant, as the proof of Theorem 24 uses for long
requests, is false at (2, 3), p = 3/4: see congestion.lemma-23.dominant.
"""

import math
from fractions import Fraction

import pytest
from flint import fmpq, fmpq_poly
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.papers.congestion.claims.mixed.spectral_gap import double_root
from fluidkv.papers.congestion.instances.coprime_pairs import coprime_pairs

EVEN = [(a, n) for a, n in coprime_pairs(60) if a % 2 == 0]
SHARES = st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100)


def p_n(a, n, p):
    coefficients = [fmpq(0)] * (n + 1)
    coefficients[n] += 1
    coefficients[n - a] -= fmpq(p.numerator, p.denominator)
    coefficients[0] -= fmpq((1 - p).numerator, (1 - p).denominator)
    return fmpq_poly(coefficients)


@given(st.sampled_from(list(coprime_pairs(30))), SHARES)
def test_rational_shares_give_a_multiple_root_only_at_two_three(pair, p):
    a, n = pair
    polynomial = p_n(a, n, p)
    multiple = polynomial.gcd(polynomial.derivative()).degree() > 0
    assert multiple == ((a, n, p) == (2, 3, Fraction(3, 4)))


def test_the_one_rationaldouble_root():
    polynomial = p_n(2, 3, Fraction(3, 4))
    common = polynomial.gcd(polynomial.derivative())
    assert common == fmpq_poly([fmpq(1, 2), 1])


@pytest.mark.parametrize(("a", "n"), EVEN[::6])
def testdouble_root_is_where_both_vanish_and_inside_as_stated(a, n):
    p, s = double_root(a, n)
    q = 1 - p
    # P_n(-s) and P_n'(-s) s, to the rounding of a few powers of numbers below 1
    value = (-s) ** n - p * (-s) ** (n - a) - q
    slope = n * (-s) ** n - p * (n - a) * (-s) ** (n - a)
    assert 0 < p < 1
    assert abs(value) < 1e-13
    assert abs(slope) < 1e-12 * n
    assert s**a == pytest.approx(p * (1 - a / n), rel=1e-12)
    assert s <= 1 - (-math.log(p) / 2) / n
