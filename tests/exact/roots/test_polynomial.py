"""Exact facts about roots, against polynomials that are built from known roots."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpz_poly
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.mixed.mix import two_lengths
from fluidkv.exact.roots.polynomial import (
    characteristic_polynomial,
    count_inside,
    count_inside_by_form,
    count_inside_by_recursion,
    count_on_circle,
    count_outside_and_on,
    reciprocal,
    split_reciprocal,
)
from fluidkv.exact.survival import survival_weights
from tests.strategies import workloads

# Irreducible real factors a z^2 + b z + c (or a z + b) with where their roots lie.
INSIDE = [fmpz_poly([1, 2]), fmpz_poly([-1, 3]), fmpz_poly([1, 1, 2]), fmpz_poly([2, -1, 5])]
OUTSIDE = [fmpz_poly([2, 1]), fmpz_poly([-3, 1]), fmpz_poly([2, 1, 1]), fmpz_poly([5, -1, 2])]
ON_CIRCLE = [fmpz_poly([1, 1]), fmpz_poly([1, 0, 1]), fmpz_poly([1, 1, 1]), fmpz_poly([5, 6, 5])]

factors = st.lists(st.integers(0, 3), max_size=4)


@given(factors, factors, factors)
def test_counts_of_a_product_are_the_sums_of_its_factors(inside, outside, on_circle):
    polynomial = fmpz_poly([1])
    for pool, picks in ((INSIDE, inside), (OUTSIDE, outside), (ON_CIRCLE, on_circle)):
        for pick in picks:
            polynomial *= pool[pick]
    common, rest = split_reciprocal(polynomial)
    assert common * rest == polynomial
    assert count_on_circle(common) == sum(ON_CIRCLE[i].degree() for i in on_circle)
    pairs = (common.degree() - count_on_circle(common)) // 2
    assert count_inside(rest) + pairs == sum(INSIDE[i].degree() for i in inside)


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=12))
def test_the_two_counts_of_roots_inside_agree(coefficients):
    if coefficients[-1] == 0:
        coefficients[-1] = 1
    _, rest = split_reciprocal(fmpz_poly(coefficients))
    by_recursion = count_inside_by_recursion(rest)
    assert by_recursion in (None, count_inside_by_form(rest))
    assert count_inside(rest) == count_inside_by_form(rest)


def test_the_recursion_is_left_open_where_a_step_vanishes():
    # 4z^3 + z + 4 has |P(0)| = |lc(P)|, and no root in common with its reciprocal
    polynomial = fmpz_poly([4, 1, 0, 4])
    assert count_inside_by_recursion(polynomial) is None
    assert count_inside(polynomial) == sum(abs(z) < 1 for z in np.roots([4, 0, 1, 4])) == 1
    assert count_inside_by_recursion(fmpz_poly([0, 0, 3])) == 2
    assert count_inside_by_recursion(fmpz_poly([7])) == 0


@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1, 2), Fraction(7, 9)])
def test_the_two_counts_agree_for_the_polynomials_that_matter(share):
    for lengths in ((5, 9), (3, 8), (19, 30), (20, 30)):
        for l0 in (0, 7, 64, 65, 900):
            polynomial = fmpz_poly(list(two_lengths(*lengths, share).weights(l0).memory[::-1]))
            by_recursion = count_inside_by_recursion(polynomial)
            assert by_recursion in (None, count_inside_by_form(polynomial))


def test_count_inside_refuses_a_root_on_the_circle():
    with pytest.raises(ArithmeticError, match="shares a root"):
        count_inside(fmpz_poly([1, 1]) * fmpz_poly([1, 2]))


def test_the_reciprocal_part_can_hold_pairs_off_the_circle():
    # (z - 2)(2z - 1): a root and its inverse, none of them on the circle
    common, rest = split_reciprocal(fmpz_poly([-2, 1]) * fmpz_poly([-1, 2]))
    assert (common.degree(), rest.degree()) == (2, 0)
    assert count_on_circle(common) == 0
    assert count_outside_and_on(common) == (1, 0)
    assert count_outside_and_on(common * common * fmpz_poly([3, 1]) * fmpz_poly([1, 1])) == (3, 1)


@pytest.mark.parametrize("digits", [9, 18, 40, 200])
def test_roots_on_the_circle_are_counted_however_near_they_are_to_the_axis(digits):
    near = 10**digits
    # z + 1/z = -2 + 1/near: a pair on the circle; -2 - 1/near: z and 1/z on the axis, off it
    on_circle = fmpz_poly([near, 2 * near - 1, near])
    off_circle = fmpz_poly([near, 2 * near + 1, near])
    assert count_on_circle(on_circle) == 2
    assert count_on_circle(off_circle) == 0
    assert count_on_circle(on_circle**2 * off_circle * fmpz_poly([1, 1])) == 5


@given(workloads())
def test_coefficients_are_the_survival_weights(workload):
    """Literally equation (10): the sum over lags m of the classes that outlive m."""
    d = workload.longest_decode
    weights = survival_weights(workload)
    polynomial = characteristic_polynomial(weights)
    for m in range(d):
        literal = sum(
            c.share * (c.input_length + 1 + m) for c in workload.classes if c.decode_length > m
        )
        assert Fraction(int(polynomial[d - 1 - m]), weights.denominator) == literal
    assert polynomial.degree() == d - 1
    assert reciprocal(polynomial)[0] == polynomial[d - 1]
