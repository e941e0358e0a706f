"""Congestion, Lemma 29: no stable islands. Every input length, by all crossings of the circle.

No counterexample is known, from n = 2 on and with C = 0. All coprime a < n <= 60 with p in tenths
were looked at once (9,909 mixes); here p = 1/10, 1/2, 9/10 to 60, behind the marker.
"""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fluidkv.exact.mixed.mix import two_lengths
from fluidkv.exact.mixed.thresholds.threshold import input_threshold
from fluidkv.exact.roots.spectrum import count_unstable
from fluidkv_papers.congestion.claims.mixed.log_chart import range_violation
from fluidkv_papers.congestion.instances.coprime_pairs import cases, threshold
from tests.strategies import coprime_pairs

SHARES = st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50)


@given(st.sampled_from(coprime_pairs(60)), SHARES)
def test_one_window_of_stability_open_to_the_right(pair, p):
    a, n = pair
    stable = input_threshold(two_lengths(a, n, p)).stable_windows
    assert [w.last for w in stable] == [None]


@given(st.sampled_from(coprime_pairs(12)), SHARES, st.data())
def test_windows_agree_with_a_count_at_one_length(pair, p, data):
    # A second method, which knows nothing of crossings: the Schur-Cohn count in integers.
    a, n = pair
    mix = two_lengths(a, n, p)
    found = input_threshold(mix)
    assert found.least is not None
    length = data.draw(st.integers(0, 2 * found.least + 2))
    count = count_unstable(mix.weights(length))
    assert (length >= found.least) == (count.outside == 0 and count.on_circle == 0)


@given(st.sampled_from(cases(60)))
def test_no_stable_length_with_eps_of_the_gap_or_more(case):
    assert range_violation(*case) is None


@given(st.integers(3, 40), st.data(), SHARES)
def test_product_of_moduli_is_above_one_for_large_eta(n, data, p):
    # C.22, the third range: eta >= (1 + p)/2 and n > 2/q, exact.
    a = data.draw(st.integers(1, n - 1))
    assume(math.gcd(a, n) == 1)
    assume(n * (1 - p) > 2)
    length = data.draw(st.integers(0, n))
    eta = Fraction(n, length + n)
    assume(eta >= (1 + p) / 2)
    weights = two_lengths(a, n, p).weights(length)
    assert weights.memory[-1] > weights.memory[0]


@pytest.mark.thorough
def test_no_islands_to_sixty():
    for case in cases(60):
        stable = threshold(*case).stable_windows
        assert [w.last for w in stable] == [None]
        assert range_violation(*case) is None
