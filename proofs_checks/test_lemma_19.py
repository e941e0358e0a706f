"""Congestion, Lemmas 18 and 19: the Lyapunov matrix of Phi, and bounds for all long inputs.

For any mix: P exists exactly where the roots of F lie inside the unit circle; then P >= I with
equality for the oldest cohort, P <= C_P I, and L(Phi y) - L(y) = -||y||^2. For coprime lengths one
C_P and one rho < 1 serve every input length from some l0* on. No counterexample is known.
"""

from fractions import Fraction

from flint import arb, arb_mat, fmpq
from hypothesis import assume, given
from hypothesis import strategies as st

from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.mixed.nearby.lyapunov import lyapunov
from fluidkv.exact.mixed.nearby.transition import transition
from fluidkv.exact.mixed.thresholds.threshold import input_threshold
from fluidkv.exact.roots.spectrum import count_unstable
from fluidkv.verdict import Stability, Verdict
from fluidkv_papers.congestion.uniform import uniform_bound
from tests.strategies import input_lengths, length_mixes

ratios = st.builds(Fraction, st.integers(1, 3), st.integers(1, 2))
mixes = length_mixes(longest=9, ratios=ratios)
stable_mixes = length_mixes(longest=9, ratios=ratios, divisors=st.just(1))


def ball(value):
    return arb(fmpq(value.numerator, value.denominator))


@given(mixes, input_lengths)
def test_there_is_a_lyapunov_matrix_exactly_where_all_roots_are_inside(mix, length):
    weights = mix.weights(length)
    found = lyapunov(weights)
    count = count_unstable(weights)
    inside = count.outside == 0 and count.on_circle == 0
    assert (found.verdict is Stability.STABLE) == (found.matrix is not None) == inside


@given(stable_mixes, st.integers(0, 1000), st.data())
def test_the_energy_is_bounded_on_both_sides_and_falls_by_the_square(mix, more, data):
    weights = mix.weights(input_threshold(mix).windows[-1].first + more)
    found = lyapunov(weights)
    entries = st.fractions(-5, 5, max_denominator=6)
    y = data.draw(st.lists(entries, min_size=mix.ages, max_size=mix.ages))
    square = sum(v * v for v in y)
    level = found.energy(y)
    assert isinstance(level, Fraction)
    assert level >= square
    assert not ball(level) > found.norm * ball(Fraction(square))
    assert found.energy(transition(weights, y)) == level - square
    last = [Fraction(0)] * (mix.ages - 1) + [Fraction(1)]
    assert found.energy(last) == 1


@given(stable_mixes, st.integers(1, 4))
def test_one_bound_serves_all_long_inputs_of_coprime_lengths(mix, times):
    # Long enough for these lengths: the first-order drift is 1/L a root, the gap of the limit more
    # than 1/1000 in most; where it is less the certificate may stay open, and nothing is claimed.
    bound = uniform_bound(mix, 2000)
    assume(bound.verdict is Verdict.HOLDS)
    assert bound.norm is not None
    assert bound.radius is not None
    found = lyapunov(mix.weights(2000 * times))
    assert found.norm < bound.norm
    assert bound.radius < 1
    assert not isinstance(found.flint, arb_mat)


@given(mixes)
def test_the_bound_never_closes_where_lengths_share_a_divisor(mix):
    common = LengthMix([2 * n for n in mix.decode_lengths], mix.shares, mix.input_ratios)
    assert uniform_bound(common, 2000).verdict is Verdict.UNDECIDED
