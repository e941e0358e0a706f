"""Congestion, Corollary 26: (l0_min + n)(1 - rho_inf) = 1 + O(n^-2), with l0_min certified.

The constant is measured as well: the limit of the left side's excess times n^2 is c(theta, p) times
the limit of Re d_alpha / n, and it was not exceeded anywhere.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.papers.congestion.instances.coprime_pairs import (
    SHARES,
    c,
    cases,
    coprime_pairs,
    drift_ratio,
    first_order,
    gap,
    least,
)

PAIRS = st.sampled_from(list(coprime_pairs(20)))


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


@pytest.mark.thorough
def test_all_pairs_to_sixty():
    for case in cases(60):
        check(*case)
