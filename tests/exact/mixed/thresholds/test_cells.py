"""The error bounds of a cell, one by one: each takes its part in the judgement, to a few percent.

Cells on real mixes never come near these bounds, so only made-up ones show that they count.
"""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from fluidkv.exact.mixed.thresholds.cells import _judged

ORDERS = 5


def factor(
    coefficients: list[complex], rounding: tuple[float, ...] = (), remainder: float = 0.0
) -> tuple[Any, Any]:
    """One cell in which the factor is the sum of c_j s^j, and the bounds on its computation."""
    padded = np.zeros(ORDERS, dtype=complex)
    padded[: len(coefficients)] = coefficients
    taylor = (padded / 1j ** np.arange(ORDERS))[:, None]
    bounds = np.zeros(ORDERS)
    bounds[: len(rounding)] = rounding
    series = SimpleNamespace(rounding_bounds=bounds, remainder=remainder)
    return series, SimpleNamespace(taylor=taylor)


def judged(first: tuple[Any, Any], second: tuple[Any, Any], halvings: int = 0) -> str:
    pair = cast("Any", (first[1], second[1]))
    monotone, failing, _, _ = _judged(first[0], second[0], pair, halvings)
    return "monotone" if monotone[0] else "failing" if failing[0] else "free"


@pytest.mark.parametrize(("error", "said"), [(1.9, "free"), (2.1, "failing")])
def test_the_error_of_the_value_counts_against_a_cell_without_zeros(error: float, said: str):
    """h = 2 with |r| = 1: what is left out of c may be as large as 2."""
    assert judged(factor([2j], (error,)), factor([1])) == said
    assert judged(factor([2j], remainder=error), factor([1])) == said
    # what is left out of r counts |c| = 2 times
    assert judged(factor([2j]), factor([1], (error / 2,))) == said


@pytest.mark.parametrize(("error", "said"), [(15, "monotone"), (17, "failing")])
def test_the_error_of_one_value_counts_with_the_slope_of_the_other(error: float, said: str):
    """c = 2i s, r = 1 + s / 10: h_1 = 2, 2 h_2 = 0.4, and e |r'| = e / 10 may be 1.6."""
    assert judged(factor([0, 2j], (error,)), factor([1, 0.1])) == said
    # the same with c and r exchanged, which changes the sign of h
    assert judged(factor([1, 0.1]), factor([0, 2j], (error,))) == said


@pytest.mark.parametrize(("error", "said"), [(1.9, "monotone"), (2.1, "failing")])
def test_the_error_of_the_slope_counts_against_a_monotone_cell(error: float, said: str):
    """h = 2 s with |r| = 1; an error of the j-th coefficient counts j times, the remainder m."""
    assert judged(factor([0, 2j], (0, error)), factor([1])) == said
    assert judged(factor([0, 2j], (0, 0, error / 2)), factor([1])) == said
    assert judged(factor([0, 2j], remainder=error / ORDERS), factor([1])) == said
    assert judged(factor([1]), factor([0, 2j], (0, error))) == said


@pytest.mark.parametrize(("share", "said"), [(0.95, "monotone"), (1.05, "failing")])
def test_errors_shrink_with_the_cell_as_their_order_says(share: float, said: str):
    """After three halvings an error of order j is 8^-j of what it was, the remainder 8^-m."""
    assert judged(factor([0, 2j], (0, 2 * 8 * share)), factor([1]), 3) == said
    remainder = 2 * 8**ORDERS / ORDERS * share
    assert judged(factor([0, 2j], remainder=remainder), factor([1]), 3) == said


@pytest.mark.parametrize(("share", "said"), [(0.95, "failing"), (1.05, "free")])
def test_the_rounding_of_the_judgement_itself_counts(share: float, said: str):
    """|c| = |r| = 1, no other error: h = 1e-14 is what products and sums may be off by."""
    assert judged(factor([1 + 1e-14j * share]), factor([1])) == said
    if said == "free":  # the slope may be off by m - 1 of them for each factor, and one
        assert judged(factor([1, 1e-14j * 9 * share]), factor([1])) == "monotone"
    else:
        assert judged(factor([1, 1e-14j * 9 * share]), factor([1])) == "failing"
