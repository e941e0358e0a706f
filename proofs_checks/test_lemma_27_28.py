"""Congestion, Lemmas 27 and 28: the logarithmic chart and the finite-input perturbation in it.

The constants are the existential ones; what is measured for `DELTA` is in the ledger,
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
from fluidkv_papers.congestion.claims.mixed.log_chart import branch_remainder
from fluidkv_papers.congestion.instances.coprime_pairs import SHARES
from tests.strategies import coprime_pairs, shares

DELTA = 0.5


def roots(weights):
    """All of F, with those below the real axis, each as often as its multiplicity."""
    polynomial = characteristic_polynomial(weights)
    return [complex(ball) for ball, times in enclosed_roots(polynomial) for _ in range(times)]


def charted(pair, p):
    """(u, x, mu) of each root of the limit: z = omega e^(-mu/n), omega = e^(2 pi i u/n)."""
    (a, n), rows = pair, []
    for z in roots(two_lengths(a, n, p).limit):
        u = round(cmath.phase(z) * n / (2 * math.pi)) % n
        rest = -a * u % n
        x = 2 * math.pi * (rest if 2 * rest <= n else rest - n) / n
        rows.append((u, x, -n * cmath.log(z / cmath.rect(1, 2 * math.pi * u / n))))
    return rows


@given(st.sampled_from(coprime_pairs(40)), shares)
def test_every_root_solves_h_at_its_phase(pair, p):
    (a, n), share, q = pair, float(p), 1 - float(p)
    rows = charted(pair, p)
    assert len(rows) == n - 1
    for _, x, mu in rows:
        assert abs(mu.imag) <= math.pi + 1e-9
        assert mu.real > 0
        first, second = cmath.exp(-mu), share * cmath.exp(1j * x - (1 - a / n) * mu)
        # z^n and z^(n-a): doubles, n roundings of numbers below 1
        assert abs(first - second - q) < 1e-13 * n


@given(st.sampled_from(coprime_pairs(40)), shares)
def test_at_large_phases_roots_are_away_and_at_small_ones_alone(pair, p):
    # c is half of what the quadratic form of Proposition 25 gives at delta, where D = 1.
    rows = charted(pair, p)
    c = float(p * (1 - p)) * DELTA**2 / 4
    assert all(mu.real >= c for _, x, mu in rows if abs(x) >= DELTA)
    near = [u for u, x, mu in rows if abs(x) <= DELTA and mu.real <= 2 * c]
    assert len(near) == len(set(near))
    assert 0 not in near  # x = 0 is the phase of z = 1, which is no root of A


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
        return -n * cmath.log(min(roots(weights), key=lambda z: abs(z / omega - 1)) / omega)

    mu, nu = nearest(mix.limit), nearest(mix.weights(length))
    # both sides are sums of numbers of size 1, divided by eta^2 >= 1e-3
    assert abs(nu - mu + eta) / eta**2 == pytest.approx(ratios[0, 0], abs=1e-9)


@given(
    st.sampled_from([pair for pair in coprime_pairs(80) if pair[1] >= 13]),
    st.sampled_from(SHARES),
)
def test_remainder_is_bounded_by_eta_squared(pair, p):
    # C = 1 serves for all three shares, eta up to q/4; it is not sharp (ledger: 0.6 to 0.8).
    etas = (1 - float(p)) / 4 * np.arange(1, 9) / 8
    ratios, _ = branch_remainder(float(p), [pair], etas)
    assert ratios.max() <= 1
