"""Roots of the limit, their drift and their branches, against mpmath and closed forms."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import pytest
from flint import acb, arb
from flint import ctx as flint_context
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.exact.mixed.mix import LengthMix, two_lengths
from fluidkv.exact.mixed.motion.branches import Branch, track
from fluidkv.exact.mixed.motion.discs import Disc, combined, taylor
from fluidkv.exact.mixed.motion.drift import (
    BoundStatus,
    BranchStatus,
    DriftBound,
    OutwardRate,
    drift,
    drift_bound,
    outward_rate,
)
from fluidkv.exact.mixed.motion.limit import LimitRoot, limit_roots, perturbed, sharp
from fluidkv.exact.roots.spectrum import count_unstable
from fluidkv.exact.survival import SurvivalWeights

HALF = Fraction(1, 2)

# mpmath's polyroots works in 60 digits here and says when it has not converged; simple roots of
# polynomials of this degree come out to more than 30 of them.
DIGITS, AGREE = 60, 1e-25


@pytest.fixture(autouse=True, scope="module")
def _digits():
    """Balls are rounded to the precision in force even as they are negated or conjugated."""
    with flint_context.workdps(DIGITS):
        yield


@st.composite
def mixes(draw, *, ratios: bool = True) -> LengthMix:
    """Two to four lengths up to 9, with and without a common divisor."""
    factor = draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(1, 9 // factor), min_size=2, max_size=4, unique=True))
    parts = [draw(st.integers(1, 9)) for _ in lengths]
    shares = [Fraction(part, sum(parts)) for part in parts]
    scale = st.builds(Fraction, st.integers(1, 6), st.integers(1, 6))
    inputs = [draw(scale) for _ in lengths] if ratios and draw(st.booleans()) else None
    return LengthMix([factor * n for n in lengths], shares, inputs)


def mpmath_roots(weights: SurvivalWeights) -> list[Any]:
    with mpmath.workdps(DIGITS):
        return list(mpmath.polyroots(list(weights.memory), maxsteps=2000, extraprec=2000))


def distance(ball: acb, z: Any) -> float:
    """|mid - z|, both far more exact than a double."""
    with mpmath.workdps(DIGITS):
        real, imag = (mpmath.mpf(x.mid().str(40, radius=False)) for x in (ball.real, ball.imag))
        return float(abs(mpmath.mpc(real, imag) - z))


def expansion(mix: LengthMix, root: LimitRoot) -> tuple[acb, acb]:
    """z1 and z2, of a simple root."""
    found = drift(mix, root)
    assert found.first is not None
    assert found.second is not None
    return found.first, found.second


def remainders(branch: Branch, mix: LengthMix) -> list[tuple[arb, arb, arb]]:
    """At each whole input length L: 1 / (L + d), then what the first and second order leave."""
    first, second = expansion(mix, branch.root)
    rows = []
    for point in branch.points:
        eps = 1 / arb(int(point.input_length + mix.ages))
        left = point.ball - sharp(mix, branch.root) - first * eps
        rows.append((eps, abs(left), abs(left - second * eps**2)))
    return rows


def with_mirror_images(roots) -> list[acb]:
    found = []
    for root in roots:
        images = [root.ball] if root.ball.imag == 0 else [root.ball, root.ball.conjugate()]
        found += images * root.multiplicity
    return found


@pytest.mark.thorough
@given(mixes())
def test_limit_roots_are_those_of_mpmath(mix):
    roots = limit_roots(mix)
    ours, theirs = with_mirror_images(roots), mpmath_roots(mix.limit)
    assert len(ours) == len(theirs) == mix.ages - 1
    if all(root.multiplicity == 1 for root in roots):
        assert all(min(distance(ball, z) for ball in ours) < AGREE for z in theirs)
        assert all(min(distance(ball, z) for z in theirs) < AGREE for ball in ours)


@given(mixes())
def test_unit_circle_roots_are_the_non_trivial_roots_of_unity(mix):
    roots = limit_roots(mix)
    g = mix.decode_gcd
    assert sum(root.count for root in roots if root.unity) == g - 1
    for root in roots:
        if root.unity:
            assert (root.ball**g).contains(1)
            assert not root.ball.contains(1)
            assert root.multiplicity == 1
        else:
            assert root.modulus < 1


def test_roots_of_example_8():
    # (-1 ± i)/2; then -1 and ± i/sqrt(2)
    (pair,) = limit_roots(two_lengths(2, 3, HALF))
    assert pair.ball == acb(-0.5, 0.5)
    minus_one, other = limit_roots(two_lengths(2, 4, HALF))
    assert (minus_one.ball, minus_one.unity, minus_one.count) == (acb(-1), (1, 2), 1)
    assert (abs(other.ball) ** 2).contains(HALF.numerator / arb(HALF.denominator))
    assert other.ball.real == 0


def test_double_root_of_the_limit_is_refused_by_a_status():
    # z^2 + z + q is (z + 1/2)^2 at q = 1/4
    mix = two_lengths(2, 3, Fraction(3, 4))
    (double,) = limit_roots(mix)
    assert (double.multiplicity, double.ball) == (2, acb(-0.5))
    found = drift(mix, double)
    assert (found.status, found.first, found.second) == (BranchStatus.MULTIPLE, None, None)
    assert found.modulus_rates is None
    assert drift_bound(mix, double, 1000) == DriftBound(BoundStatus.MULTIPLE, 2, Fraction(1000))
    branch = track(mix, double, [1000, 10])
    assert (branch.status, branch.points) == (BranchStatus.MULTIPLE, ())
    assert branch.bracket == (1000, None)


@given(mixes(ratios=False))
def test_common_input_gives_the_printed_coefficients(mix):
    """z1 = alpha and c_2 of (31), the latter written out from A, A' and A''."""
    limit, correction = perturbed(mix)
    slope = limit.derivative()
    assert [int(c) for c in correction.coeffs()] == [
        -j * int(limit[j]) for j in range(1, limit.degree() + 1)
    ] or correction == -_times_z(slope)
    for root in limit_roots(mix):
        if root.multiplicity > 1:
            continue
        first_order, second_order = expansion(mix, root)
        alpha = root.ball
        first, second = _value(slope, alpha), _value(slope.derivative(), alpha)
        assert first_order.overlaps(alpha)
        assert second_order.overlaps(alpha / 2 * (alpha * second / first + 2))
        # overlapping balls say something only if they are small
        assert float(second_order.real.rad()) < 1e-20


@given(mixes())
def test_unit_circle_modes_move_straight_outward(mix):
    """B.9: z1 / w = sum(p l1) / sum(p r l1), whatever the inputs."""
    mean = sum(p * n for p, n in zip(mix.shares, mix.decode_lengths, strict=True))
    weighted = sum(
        p * r * n for p, r, n in zip(mix.shares, mix.input_ratios, mix.decode_lengths, strict=True)
    )
    rate = Fraction(mean) / weighted
    for root in limit_roots(mix):
        if root.unity:
            ratio = expansion(mix, root)[0] / root.ball
            assert ratio.contains(acb(arb(rate.numerator) / rate.denominator))
            assert ratio.real > 0
            assert float(ratio.real.rad()) < 1e-20


@given(mixes(ratios=False))
def test_second_order_of_unit_circle_modes_is_rational_and_positive(mix):
    """Re d_w = 1/2 + (d(d-1) - sum(p (d-l1)(d-l1-1))) / (2 sum(p l1)), the same for all modes."""
    d, rows = mix.ages, list(zip(mix.shares, mix.decode_lengths, strict=True))
    curvature = d * (d - 1) - sum(p * (d - n) * (d - n - 1) for p, n in rows)
    rate = Fraction(1, 2) + Fraction(curvature) / (2 * sum(p * n for p, n in rows))
    assert rate > 0
    for root in limit_roots(mix):
        if root.unity:
            rates = drift(mix, root).modulus_rates
            assert rates is not None
            assert rates[0].contains(1)
            assert rates[1].contains(arb(rate.numerator) / rate.denominator)
            assert float(rates[1].rad()) < 1e-20


@pytest.mark.thorough
@given(mixes(), st.sampled_from([0, 1, 7, Fraction(50, 3), 400]))
def test_branches_end_in_different_roots_of_mpmath(mix, length):
    theirs = mpmath_roots(mix.weights(length))
    ends: list[acb] = []
    for root in limit_roots(mix):
        branch = track(mix, root, [length])
        if branch.status is not BranchStatus.TRACKED:
            assert branch.points == ()
            continue
        (point,) = branch.points
        near, *others = sorted(distance(point.ball, z) for z in theirs)
        assert near < AGREE
        assert float(point.ball.rad()) < 1e-20 < min(others, default=1)
        assert not any(point.ball.overlaps(other) for other in ends)
        ends.append(point.ball)
    if length == 400 and mix.common_input:  # no collision is that far out for lengths up to 9
        simple = [root for root in limit_roots(mix) if root.multiplicity == 1]
        assert len(ends) == len(simple)


def test_branches_are_different_roots():
    mix = LengthMix((6, 9, 15), (Fraction(1, 5), Fraction(3, 10)))
    ends = [track(mix, root, [100]).points[0].ball for root in limit_roots(mix)]
    assert not any(a.overlaps(b) for i, a in enumerate(ends) for b in ends[:i])


def test_the_discs_of_a_branch_leave_no_gap_between_input_lengths(monkeypatch):
    """Each is proved for a whole interval of eps, and the intervals reach from 0 to the end."""
    mix, covered = two_lengths(3, 7, Fraction(1, 3)), []

    def recorded(p, q, eps):
        covered.append((eps.lower(), eps.upper()))
        return combined(p, q, eps)

    monkeypatch.setattr("fluidkv.exact.mixed.motion.branches.combined", recorded)
    for root in limit_roots(mix):
        covered.clear()
        assert track(mix, root, [5]).status is BranchStatus.TRACKED
        reached = arb(0)
        for low, high in sorted(covered, key=lambda ends: float(ends[0])):
            assert low <= reached
            reached = max(reached, high)
        assert reached >= 1 / arb(5 + mix.ages)


def test_tracked_modulus_of_the_printed_examples():
    mix = two_lengths(2, 4, HALF)
    branch = track(mix, limit_roots(mix)[0], [10, 50])
    moduli = {point.input_length: float(point.modulus) for point in branch.points}
    # 2 F(-x) by hand; roundings are some 1e-14 of coefficients up to 104
    for l0 in (10, 50):
        x = moduli[Fraction(l0)]
        by_hand = ((2 * (l0 + 1) * x - 2 * (l0 + 2)) * x + (l0 + 3)) * x - (l0 + 4)
        assert abs(by_hand) < 1e-12


def test_collision_is_found_where_the_discriminant_vanishes():
    # (l0+1) z^2 + (l0+2) z + q (l0+3) has a double root where (l0+2)^2 = 4q/(4q-1): l0 = 3
    mix = two_lengths(2, 3, 1 - Fraction(25, 96))
    (root,) = limit_roots(mix)
    branch = track(mix, root, [100, 4, 3, 1])
    assert branch.status is BranchStatus.COLLISION
    assert [point.input_length for point in branch.points] == [100, 4]
    assert branch.bracket is not None
    low, high = branch.bracket
    assert high is not None
    assert low < 3 < high < low + 1e-6
    assert track(mix, root, [4]).status is BranchStatus.TRACKED


@given(mixes())
def test_remainders_have_the_order_of_the_expansion(mix):
    for root in limit_roots(mix):
        if root.multiplicity > 1:
            continue
        branch = track(mix, root, [10**6, 10**7, 10**8])
        if branch.status is not BranchStatus.TRACKED:
            continue  # two roots of the limit closer than 1e-6 or so
        assert [point.input_length for point in branch.points] == [10**8, 10**7, 10**6]
        slopes = [
            [(y / x).log() / (larger / eps).log() for x, y in zip(before, after, strict=True)]
            for (eps, *before), (larger, *after) in pairwise(remainders(branch, mix))
        ]
        # orders differ from 2 and 3 by about eps times a ratio of coefficients, unless one of them
        # vanishes (then the order is higher)
        if float(abs(expansion(mix, root)[1])) > 1e-2:
            assert all(abs(float(first) - 2) < 0.05 for first, _ in slopes)
        assert all(float(second) > 2.9 for _, second in slopes)


@given(mixes(), st.sampled_from([30, 200, 3000]), st.sampled_from([1, 2]))
def test_remainder_is_within_the_certified_bound_from_there_on(mix, above, order):
    for root in limit_roots(mix):
        bound = drift_bound(mix, root, above, order=order)
        if bound.constant is None:
            continue
        branch = track(mix, root, [above, 2 * above, 9 * above])
        assert branch.status is BranchStatus.TRACKED
        for eps, *left in remainders(branch, mix):
            assert left[order - 1] < bound.constant * eps ** (order + 1)


def written_out(p, q, first, second, order, k, eps):
    """All but P'(alpha) u on the circle |u| = k eps^(order+1), over eps^(order+1): plain sums."""
    if order == 1:
        reach = first + k * eps
        low = p[2] * reach**2 + q[1] * reach
    else:
        beyond = second + k * eps
        reach = first + eps * beyond
        low = p[2] * (2 * first * beyond + eps * beyond**2) + q[1] * beyond
    high = sum(p[j] * reach**j * eps ** (j - order - 1) for j in range(3, len(p)))
    return low + high + sum(q[j] * reach**j * eps ** (j - order) for j in range(2, len(q)))


@given(mixes(), st.sampled_from([1, 2]))
def test_no_term_is_missing_from_the_bound(mix, order):
    """At the shortest input that has a bound, where terms of high order weigh most."""
    p, q = perturbed(mix)
    for root in limit_roots(mix):
        lengths = (0, 1, 2, 5, 10, 20, 40, 80, 160, 320)
        tried = (drift_bound(mix, root, length, order=order) for length in lengths)
        bound = next((b for b in tried if b.constant is not None), None)
        if bound is None:
            continue
        with mpmath.workdps(DIGITS):
            alpha = root.ball.mid()
            coefficients = [
                [mpmath.mpf(abs(c).mid().str(40, radius=False)) for c in taylor(f, alpha)]
                for f in (p, q)
            ]
            z1, z2 = (mpmath.mpf(abs(z).mid().str(40, radius=False)) for z in expansion(mix, root))
            eps = 1 / (mpmath.mpf(int(bound.above)) + mix.ages)
            k = mpmath.mpf(bound.constant)
            rest = written_out(coefficients[0], coefficients[1], z1, z2, order, k, eps)
            assert rest < coefficients[0][1] * k


def test_modulus_of_a_branch_that_turns_to_second_order():
    """With unequal inputs z1 / alpha is not real: its imaginary part counts in the modulus."""
    mix = LengthMix((2, 3, 5), (Fraction(1, 5), Fraction(1, 2)), (4, 1, Fraction(1, 3)))
    for root in limit_roots(mix):
        rates = drift(mix, root).modulus_rates
        assert rates is not None
        [point] = track(mix, root, [10**6]).points
        eps = 1 / arb(10**6 + mix.ages)
        second = (point.modulus / root.modulus - 1 - rates[0] * eps) / eps**2
        assert abs(second - rates[1]) < 1e-3  # the third order, times eps
    turning = [expansion(mix, r)[0] / r.ball for r in limit_roots(mix) if r.ball.imag > 0]
    assert any(abs(z.imag) > 0.1 for z in turning)  # else this would show nothing


def test_a_disc_is_inside_another_with_its_rim():
    outer = Disc(acb(0), arb(1))
    assert Disc(acb(0.5), arb(0.4)).inside(outer)
    assert not Disc(acb(0.5), arb(0.5)).inside(outer)
    assert not Disc(acb(0, 0.9), arb(0.4)).inside(outer)


def test_the_ball_of_a_disc_holds_its_rim():
    disc = Disc(acb(1, 2), arb(0.25))
    for z in (acb(1.25, 2), acb(0.75, 2), acb(1, 2.25), acb(1, 1.75)):
        assert disc.ball.contains(z)
    real = Disc(acb(1), arb(0.25)).ball
    assert real.contains(acb(1.25))
    assert real.imag == 0


@given(mixes())
def test_outward_rate_holds_for_tracked_modes(mix):
    rate = outward_rate(mix, 300)
    modes = [root for root in limit_roots(mix) if root.unity]
    if not modes:
        assert rate == OutwardRate(BoundStatus.NO_MODES, Fraction(300))
        return
    if rate.low is None or rate.high is None or rate.limit is None:
        assert rate.status in (BoundStatus.TOO_SHORT, BoundStatus.UNDECIDED)
        return
    assert rate.low < rate.limit < rate.high
    for root in modes:
        for point in track(mix, root, [300, 1000, 10**5]).points:
            outward = (point.modulus - 1) * int(point.input_length + mix.ages)
            assert rate.low < outward < rate.high


def test_outward_rate_of_a_positive_bound_proves_the_count():
    mix = two_lengths(6, 9, Fraction(1, 3))
    rate = outward_rate(mix, 100)
    assert rate.low is not None
    assert rate.low > 0
    assert rate.limit == 1
    for length in (100, 101, 1000):
        assert count_unstable(mix.weights(length)).outside == 2


def test_a_bound_that_is_not_found_says_why():
    mix = two_lengths(2, 4, HALF)
    mode = limit_roots(mix)[0]
    assert drift_bound(mix, mode, 0) == DriftBound(BoundStatus.TOO_SHORT, 2, Fraction(0))
    assert drift_bound(mix, mode, 100).status is BoundStatus.FOUND
    assert outward_rate(mix, 0) == OutwardRate(BoundStatus.TOO_SHORT, Fraction(0))
    coprime = outward_rate(two_lengths(2, 3, HALF), 100)
    assert coprime == OutwardRate(BoundStatus.NO_MODES, Fraction(100))


def test_a_search_for_a_radius_that_grows_too_slowly_is_given_up():
    """P and Q are linear, so each round adds 2 % to the radius; no circle is large enough."""
    mix = LengthMix((1, 2), [HALF], (Fraction(1, 4), Fraction(1, 4)))
    (root,) = limit_roots(mix)
    assert drift_bound(mix, root, 0) == DriftBound(BoundStatus.UNDECIDED, 2, Fraction(0))
    assert drift_bound(mix, root, 1).status is BoundStatus.FOUND


@pytest.mark.parametrize("bad", [-1, 1.5, "7"])
def test_bad_input_length_gets_one_line(bad):
    mix = two_lengths(2, 3, HALF)
    (root,) = limit_roots(mix)
    for call in (lambda: track(mix, root, [bad]), lambda: drift_bound(mix, root, bad)):
        with pytest.raises(InputError, match=r"^input_length: got "):
            call()


def test_bad_order_gets_one_line():
    mix = two_lengths(2, 3, HALF)
    with pytest.raises(InputError, match=r"^order: got 3; allowed: 1 or 2$"):
        drift_bound(mix, limit_roots(mix)[0], 10, order=3)


@pytest.mark.thorough
@pytest.mark.parametrize("lengths", [(60, 90), (20, 21), (128, 192, 256), (31, 64, 97, 101)])
def test_all_branches_of_longer_mixes_are_roots_of_f(lengths):
    mix = LengthMix(lengths, [Fraction(1, len(lengths))] * len(lengths))
    ends = [track(mix, root, [1000]) for root in limit_roots(mix)]
    assert all(branch.status is BranchStatus.TRACKED for branch in ends)
    outside = sum(b.root.count for b in ends if b.points[0].modulus > 1)
    assert outside == count_unstable(mix.weights(1000)).outside


def _times_z(polynomial):
    return type(polynomial)([0, *polynomial.coeffs()])


def _value(polynomial, z: acb) -> acb:
    total = acb(0)
    for c in reversed(polynomial.coeffs()):
        total = total * z + c
    return total
