"""The spectral radius alone, against the enclosure of all roots and against numpy."""

from fractions import Fraction

import numpy as np
import pytest

from fluidkv.exact.mixed.mix import two_lengths
from fluidkv.exact.roots import spectrum
from fluidkv.exact.roots.spectrum import certify_spectrum, spectral_radius


@pytest.mark.parametrize("lengths", [(1, 2), (3, 8), (7, 22), (12, 30), (11, 47), (40, 60)])
@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1, 2)])
def test_radius_alone_is_that_of_all_roots(lengths, share):
    mix = two_lengths(lengths[0], lengths[1], share)
    for weights in (mix.limit, mix.weights(50)):
        low, high = spectral_radius(weights)
        all_low, all_high = certify_spectrum(weights).radius
        assert max(low, all_low) <= min(high, all_high)
        assert high - low < 1e-14  # balls of 128 bits, rounded outward to doubles
        # numpy's roots are those of a polynomial off by some d * 1e-16, and leading roots are
        # simple and well apart here
        assert (low + high) / 2 == pytest.approx(abs(np.roots(weights.memory)).max(), abs=1e-11)


def test_a_search_ends_where_no_circle_closes(monkeypatch):
    """As of requests with drafts, whose weights cancel beyond double precision."""
    circles = []
    monkeypatch.setattr(spectrum, "close_certificate", lambda *_, **__: circles.append(1))
    polynomial = spectrum.characteristic_polynomial(two_lengths(40, 90, Fraction(1, 2)).weights(50))
    roots, circle, (low, high) = spectrum._leading_roots(polynomial)
    assert (roots, circle) == ((), None)
    assert low < high
    assert len(circles) <= 2 * 9  # one to prove the roots at hand, one to look for others
