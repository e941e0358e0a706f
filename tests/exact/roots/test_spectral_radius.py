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
    assert len(circles) <= 2 * 2  # one to prove the roots at hand, one to look for others
    method = spectrum._large(polynomial).method
    assert method == "winding number with bounded rounding"  # without any root in a ball


@pytest.mark.parametrize(
    ("longest", "unclosed"),
    [(90, 1), (200, 2), (400, 3)],  # as many as 64, 128 and 256 starts that are too few, and one
)
def test_a_search_goes_on_where_a_few_circles_do_not_close(monkeypatch, longest, unclosed):
    polynomial = spectrum.characteristic_polynomial(
        two_lengths(40, longest, Fraction(1, 2)).weights(50)
    )
    expected = spectrum._largest_modulus(spectrum._leading_roots(polynomial)[0])
    close, calls = spectrum.close_certificate, iter(range(10**6))

    def late(*circle, **options):
        """None of the first circles, nor of those just inside their estimates."""
        return None if next(calls) < 2 * unclosed else close(*circle, **options)

    monkeypatch.setattr(spectrum, "close_certificate", late)
    roots, circle, _ = spectrum._leading_roots(polynomial)
    assert circle is not None
    low, high = spectrum._largest_modulus(roots)
    assert high - low < 1e-14
    assert max(low, expected[0]) <= min(high, expected[1])
