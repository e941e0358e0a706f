"""Figures on footprints: what is drawn is what the theory says where it is known without it."""

from fractions import Fraction

import numpy as np

from fluidkv_papers.footprints.figures import maps


def test_a_window_cures_alike_requests_if_the_input_fills_it() -> None:
    """What falls with age has its zeros outside the disc (Eneström and Kakeya), what grows inside.

    Behind an input of 20 tokens a window of 21 holds as much always: it is neutral.
    """
    found = maps.windows_data(outputs=(4, 9), windows=(4, 20, 21, 22, 70))
    leading = found["leading"].reshape(2, 5)
    assert (leading[:, :2] < 1).all()
    assert np.allclose(leading[:, 2], 1)
    assert (leading[:, 3:] > 1).all()


def test_drafts_that_nobody_accepts_cost_their_slots() -> None:
    """100 + 24: requests of 101 ... 124 tokens, and three slots more in each of 24 iterations."""
    none = maps.drafts_data(outputs=(24,), acceptance=(Fraction(0), Fraction(1, 2)))
    assert none["leading"][0] > 1 > none["leading"][1]
    held = sum(range(101, 125))
    assert np.isclose(none["gain_100_24"][0], held / (held + 3 * 24))
    assert np.isclose(none["free_100_24"][0], 1)
