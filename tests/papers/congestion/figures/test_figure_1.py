"""The numbers behind Figure 1 against the closed forms, in exact arithmetic."""

from fractions import Fraction

import numpy as np

from fluidkv_papers.congestion.figures import figure_1


def share(squares: int) -> float:
    """Equation (25) over x*, for l0 = 2, l1 = 12 and a sum of squared gaps."""
    return float(Fraction(2 * 24 + 144 + 12, 2 * 24 + 144 + squares))


def test_curves_are_equation_25_at_the_extreme_gap_vectors() -> None:
    data = figure_1.data()
    for level in range(12):
        m = 12 - level
        a, r = divmod(12, m)
        longest = 12 - m + 1
        assert data["contiguous"][level] == share(longest**2 + m - 1)
        assert data["as_evenly_spaced"][level] == share(r * (a + 1) ** 2 + (m - r) * a**2)
    assert data["worst_case_ratio"] == data["contiguous"][11] == share(144)


def test_every_cycle_is_there_and_between_the_curves() -> None:
    data = figure_1.data()
    level = data["cycle_level"].astype(int)
    assert len(level) == 351  # binary necklaces of 12 beads, less the empty one
    assert np.all(data["cycle"] >= data["contiguous"][level])
    assert np.all(data["cycle"] <= data["as_evenly_spaced"][level])


def test_caption_says_where_the_curves_are_furthest_apart() -> None:
    text = figure_1.caption(figure_1.data())
    assert "15.56 % of x* apart at level 8" in text
    assert "15.61 % at level 9" in text
    assert "levels 0, 1 and 11" in text
