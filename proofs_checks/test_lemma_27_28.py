"""Congestion, Lemmas 27 and 28: the logarithmic chart and the finite-input perturbation in it.

The constants are the existential ones; `DELTA` and what is measured for it are in the ledger,
congestion.lemma-27.away and congestion.lemma-28.remainder.
"""

import cmath
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.mixed.mix import two_lengths
from fluidkv.exact.roots.polynomial import characteristic_polynomial, enclosed_roots
from fluidkv.papers.congestion.claims.mixed.log_chart import branch_remainder, charted
from fluidkv.papers.congestion.instances.coprime_pairs import SHARES, coprime_pairs


@pytest.mark.parametrize("p", SHARES)
def test_every_root_solves_h_at_its_phase(p):
    share, q = float(p), 1 - float(p)
    for a, n, _, x, mu in charted(p):
        assert abs(mu.imag) <= math.pi + 1e-9
        assert mu.real > 0
        first, second = cmath.exp(-mu), share * cmath.exp(1j * x - (1 - a / n) * mu)
        # z^n and z^(n-a): doubles, n roundings of numbers below 1
        assert abs(first - second - q) < 1e-13 * n


@given(st.sampled_from([pair for pair in coprime_pairs(24) if pair[1] >= 14]), st.integers(2, 30))
def test_remainder_by_newton_is_that_of_the_roots_of_f(pair, times):
    # A second method: the roots of F at a whole l0, in balls, the one nearest to omega_1.
    a, n = pair
    p = SHARES[1]
    length = times * n
    eta = n / (length + n)
    ratios, _ = branch_remainder(float(p), [pair], np.array([eta]))
    u = -pow(a, -1, n) % n
    omega = cmath.rect(1, 2 * math.pi * u / n)
    mix = two_lengths(a, n, p)

    def nearest(weights):
        roots = [complex(r) for r, _ in enclosed_roots(characteristic_polynomial(weights))]
        return -n * cmath.log(min(roots, key=lambda z: abs(z / omega - 1)) / omega)

    mu, nu = nearest(mix.limit), nearest(mix.weights(length))
    # both sides are sums of numbers of size 1, divided by eta^2 >= 1e-3
    assert abs(nu - mu + eta) / eta**2 == pytest.approx(ratios[0, 0], abs=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("p", SHARES)
def test_remainder_is_bounded_by_eta_squared_to_eighty(p):
    # C = 1 serves for all three shares; it is not sharp (ledger: 0.6 to 0.8).
    etas = (1 - float(p)) / 4 * np.arange(1, 33) / 32
    long = [pair for pair in coprime_pairs(80) if pair[1] >= 13]
    ratios, _ = branch_remainder(float(p), long, etas)
    assert ratios.max() <= 1
