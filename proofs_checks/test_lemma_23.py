"""Congestion, Lemma 23: multiple roots of P_n are at least c_p / n inside the unit circle.

They are double, negative, and exist for even a at exactly one p; the lemma holds with N_p as small
as it can be. That multiple roots are not dominant, as the proof of Theorem 24 uses for long
requests, is false at (2, 3), p = 3/4: see congestion.lemma-23.dominant.
"""

import math
from fractions import Fraction

import pytest
from flint import fmpq, fmpq_poly, fmpz_poly
from hypothesis import given
from hypothesis import strategies as st

from fluidkv_papers.congestion.claims.mixed.spectral_gap import double_root
from tests.strategies import coprime_pairs, shares

EVEN = [(a, n) for a, n in coprime_pairs(200) if a % 2 == 0]


def p_n(a, n, p):
    coefficients = [fmpq(0)] * (n + 1)
    coefficients[n] += 1
    coefficients[n - a] -= fmpq(p.numerator, p.denominator)
    coefficients[0] -= fmpq((1 - p).numerator, (1 - p).denominator)
    return fmpq_poly(coefficients)


@given(st.sampled_from(coprime_pairs(30)), shares)
def test_rational_shares_give_a_multiple_root_only_at_two_three(pair, p):
    a, n = pair
    polynomial = p_n(a, n, p)
    multiple = polynomial.gcd(polynomial.derivative()).degree() > 0
    assert multiple == ((a, n, p) == (2, 3, Fraction(3, 4)))


def test_the_one_rational_double_root():
    polynomial = p_n(2, 3, Fraction(3, 4))
    common = polynomial.gcd(polynomial.derivative())
    assert common == fmpq_poly([fmpq(1, 2), 1])


@given(st.sampled_from(coprime_pairs(20)), shares, shares)
def test_even_lengths_have_their_double_root_at_one_share_and_odd_ones_at_none(pair, p, other):
    # Exact: the discriminant changes its sign there and nowhere else.
    a, n = pair
    at_double = double_root(a, n)[0] if a % 2 == 0 else 1.0

    def sign(share):
        numer = fmpz_poly([int(c) for c in (share.denominator * p_n(a, n, share)).coeffs()])
        value = numer.discriminant()
        return (value > 0) - (value < 0)

    assert (sign(p) == 0) == ((a, n, p) == (2, 3, Fraction(3, 4)))
    if sign(p) and sign(other):
        same_side = (p < at_double) == (other < at_double)
        assert (sign(p) == sign(other)) == same_side


@given(st.sampled_from(EVEN))
def test_the_double_root_is_where_both_vanish_and_inside_as_stated(pair):
    (a, n), (p, s) = pair, double_root(*pair)
    q = 1 - p
    # P_n(-s) and P_n'(-s) s, to the rounding of a few powers of numbers below 1
    value = (-s) ** n - p * (-s) ** (n - a) - q
    slope = n * (-s) ** n - p * (n - a) * (-s) ** (n - a)
    assert 0 < p < 1
    assert abs(value) < 1e-13
    assert abs(slope) < 1e-12 * n
    assert s**a == pytest.approx(p * (1 - a / n), rel=1e-12)
    assert s <= 1 - (-math.log(p) / 2) / n
