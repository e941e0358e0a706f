"""Congestion, Corollary 26: (l0_min + n)(1 - rho_inf) = 1 + O(n^-2), with l0_min certified.

The constant is measured as well: the limit of the left side's excess times n^2 is c(theta, p) times
the limit of Re d_alpha / n, and it was not exceeded anywhere.
"""

import math
from functools import cache

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from fluidkv_papers.congestion.claims.mixed.spectral_gap import phase_series
from fluidkv_papers.congestion.instances.coprime_pairs import (
    SHARES,
    c,
    cases,
    drift_ratio,
    first_order,
    gap,
    least,
)
from tests.strategies import coprime_pairs

PAIRS = st.sampled_from(coprime_pairs(30))
LONG = st.sampled_from([pair for pair in coprime_pairs(44) if pair[1] >= 30])


@cache
def largest(p):
    """sup over theta of the limit of the excess times n^2; theta in hundredths."""
    return max(c(t / 100, p) * drift_ratio(t / 100, p) for t in range(101))


def check(a, n, p):
    low, high = gap(a, n, p)
    s = least(a, n, p) + n
    assert s * high >= 1
    assert float(s * low - 1) * n**2 <= largest(p)


@given(PAIRS, st.sampled_from(SHARES))
def test_excess_is_positive_and_below_its_limit(pair, p):
    a, n = pair
    check(a, n, p)


@given(PAIRS, st.sampled_from(SHARES))
def test_first_order_criterion_never_asks_for_too_much(pair, p):
    a, n = pair
    estimate = first_order(a, n, p)
    assert estimate is not None
    assert estimate <= least(a, n, p)


@given(LONG, st.sampled_from(SHARES[:2]))
def test_the_threshold_is_the_cube_of_the_length_over_c(pair, p):
    # Proposition 4 with its rate: the corollary's n^-2 and that of the gap (test_prop_25) together.
    a, n = pair
    gap_off = 1.5 * quartic(p) / c(a / n, p)
    ratio = (least(a, n, p) + n) * c(a / n, p) / n**3
    assert abs(ratio - 1) <= 1.1 * (largest(p) + gap_off) / n**2


@cache
def quartic(p):
    """sup over theta of |mu_4| (2 pi)^4, theta in fiftieths: the coefficient of n^-5 of the gap."""
    series = sympy.lambdify(sympy.symbols("p D", real=True), phase_series()[3])
    q = 1 - float(p)
    return max(abs(series(float(p), q + float(p) * t / 50)) for t in range(51)) * (2 * math.pi) ** 4


@pytest.mark.thorough
def test_all_pairs_to_sixty():
    for case in cases(60):
        check(*case)
