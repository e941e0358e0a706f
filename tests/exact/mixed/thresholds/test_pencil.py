"""Crossings of the unit circle, against counts of roots, mpmath, and one another."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import pytest
from flint import arb, fmpz_poly
from flint import ctx as flint_context

from fluidkv.exact.mixed.mix import LengthMix, two_lengths
from fluidkv.exact.mixed.thresholds import pencil
from fluidkv.exact.mixed.thresholds.condition import CrossingCondition
from fluidkv.exact.mixed.thresholds.pencil import Crossing, InputPencil
from fluidkv.exact.mixed.thresholds.separation import _zeros, by_cells, by_isolation
from fluidkv.exact.roots.spectrum import count_unstable
from tests.exact.mixed.mixes import NEVER, TOUCHING, TRIPLE, random_mixes

HALF = Fraction(1, 2)


def middle(crossing: Crossing) -> Fraction:
    """Of the ball of L, exact."""
    if crossing.exact is not None:
        return crossing.exact
    value, shift = crossing.length.mid().man_exp()
    return Fraction(int(value)) * Fraction(2) ** int(shift)


def between(crossings: list[Crossing]) -> list[Fraction]:
    """An L in each gap: below the first if that is above 0, ..., beyond the last."""
    points = [max(Fraction(0), middle(c)) for c in crossings]
    inner = [(a + b) / 2 for a, b in pairwise(points)]
    return [points[0] / 2, *inner, 2 * points[-1] + 1] if points else [Fraction(1)]


def outside(mix: LengthMix, length: Fraction) -> int:
    """Growing modes, by the Schur-Cohn form in integers: knows nothing of crossings."""
    count = count_unstable(mix.weights(length))
    assert count.on_circle == 0
    assert count.outside is not None
    return count.outside


@pytest.mark.parametrize("mix", random_mixes(120, seed=3), ids=str)
def test_counts_change_at_crossings_as_said(mix: LengthMix) -> None:
    crossings = [c for c in InputPencil(mix).crossings() if middle(c) > 0]
    counts = [outside(mix, length) for length in between(crossings)]
    assert [b - a for a, b in pairwise(counts)] == [c.outward for c in crossings]
    assert counts[-1] == mix.decode_gcd - 1  # the limit: Congestion, Theorem 3 for K classes


def crossings_by_mpmath(mix: LengthMix) -> list[tuple[Any, Any]]:
    """(L, turn) with L >= 0, from the sums over classes alone, at 50 digits.

    A fine grid finds changes of sign of Im(C conj A); for these lengths, at most 12, no two zeros
    of any mix below are nearer to one another than a cell, or one would be missing in the count.
    """
    rows = list(zip(mix.decode_lengths, mix.shares, mix.input_ratios, strict=True))
    d = mix.ages

    def value(turn, weight):
        z = mpmath.expjpi(turn)
        return mpmath.fsum(
            (mpmath.mpf(p.numerator) / p.denominator) * weight(r, s) * z ** (d - 1 - s)
            for n, p, r in rows
            for s in range(n)
        )

    def slope(turn):
        return value(turn, lambda r, s: mpmath.mpf(r.numerator) / r.denominator)

    def offset(turn):
        return value(turn, lambda r, s: 1 + s)

    def h(turn):
        return mpmath.im(offset(turn) * mpmath.conj(slope(turn)))

    grid = [mpmath.mpf(k) / 301 for k in range(1, 301)]
    values = [h(x) for x in grid]
    found = []
    for (a, b), (ha, hb) in zip(pairwise(grid), pairwise(values), strict=True):
        if ha * hb < 0:
            turn = mpmath.findroot(h, (a, b), solver="anderson", tol=1e-80)
            if abs(slope(turn)) > 1e-20:  # a root of A_r on the circle is no crossing
                found.append((mpmath.re(-offset(turn) / slope(turn)), turn))
    if abs(slope(1)) > 1e-20:
        found.append((mpmath.re(-offset(1) / slope(1)), mpmath.mpf(1)))
    return sorted((length, turn) for length, turn in found if length >= 0)


@pytest.mark.daily(4)
@pytest.mark.parametrize("mix", random_mixes(12, seed=4, longest=12), ids=str)
def test_crossings_are_those_that_mpmath_finds(mix: LengthMix) -> None:
    ours = InputPencil(mix).crossings()
    with mpmath.workdps(50):
        theirs = crossings_by_mpmath(mix)
        assert len(ours) == len(theirs)
        for crossing, (length, turn) in zip(ours, theirs, strict=True):
            with flint_context.workprec(200):
                for ball, value in ((crossing.length, length), (crossing.turn, turn)):
                    # the balls have some 1e-15 at worst, mpmath some 1e-45
                    off = abs(mpmath.mpf(ball.mid().str(45, radius=False)) - value)
                    assert (
                        off <= mpmath.mpf(ball.rad().str(20, radius=False)) + mpmath.mpf(10) ** -40
                    )


def test_no_ball_holds_two_whole_lengths() -> None:
    """And none is wider than was asked for: for these, 64 bits do for some and not for others."""
    crossings = InputPencil(two_lengths(61, 80, HALF)).crossings()
    assert len(crossings) == 40
    for crossing in crossings:
        radius = float(crossing.length.rad())
        assert radius < 1e-2
        assert radius < 1e-6 * (1 + abs(float(crossing.length.mid())))
        assert float(crossing.turn.rad()) < 2**-41  # 2^-42 at the fewest bits


@pytest.mark.parametrize("mix", random_mixes(8, seed=5, longest=10), ids=str)
def test_roots_at_a_crossing_stand_on_the_circle(mix: LengthMix) -> None:
    """By mpmath.polyroots, which knows neither h nor the circle."""
    for crossing in InputPencil(mix).crossings():
        length = middle(crossing)
        if length < 0:
            continue
        with mpmath.workdps(40):
            coefficients = [mpmath.mpf(v) for v in mix.weights(length).memory]
            roots = mpmath.polyroots(coefficients, maxsteps=500, extraprec=300)
            place = mpmath.expjpi(mpmath.mpf(crossing.turn.mid().str(30, radius=False)))
            # the middle of the ball is off by 1e-15 or less, and simple roots move as much
            near = [z for z in roots if min(abs(z - place), abs(z - place.conjugate())) < 1e-9]
            assert len(near) == (1 if crossing.exact is not None else 2)
            assert all(abs(abs(z) - 1) < 1e-9 for z in near)


@pytest.mark.parametrize("mix", random_mixes(80, seed=6), ids=str)
def test_isolating_roots_and_covering_the_circle_agree(mix: LengthMix) -> None:
    """On every zero; cells may leave out those at which L is negative, and no others."""
    condition = CrossingCondition(mix)
    cells, isolated = by_cells(condition), by_isolation(condition)
    assert cells is not None
    left = list(cells.brackets)
    for bracket in isolated.brackets:
        same = [b for b in left if max(b.left, bracket.left) < bracket.near < b.right]
        if same:
            assert [b.sign for b in same] == [bracket.sign]
            left.remove(same[0])
        else:
            assert condition.length(arb(bracket.near)) < 0
    assert left == []
    assert cells.last_sign == isolated.last_sign


@pytest.mark.parametrize("mix", random_mixes(40, seed=8), ids=str)
def test_crossings_are_the_same_by_either_route(mix: LengthMix, monkeypatch) -> None:
    usual = InputPencil(mix).crossings()
    monkeypatch.setattr(pencil, "separate", by_isolation)
    forced = InputPencil(mix).crossings()
    assert [(c.exact, c.outward) for c in usual] == [(c.exact, c.outward) for c in forced]
    for a, b in zip(usual, forced, strict=True):
        assert a.length.overlaps(b.length)
        assert a.turn.overlaps(b.turn)


def test_the_zero_next_to_minus_one_counts_where_minus_one_is_no_crossing() -> None:
    """With g even A_r(-1) = 0, h is even about pi and not 0 there: the last cell counts."""
    condition = CrossingCondition(two_lengths(2, 4, HALF))
    assert not condition.zero_at_minus_one
    cells = by_cells(condition)
    assert cells is not None
    assert len(cells.brackets) == len(by_isolation(condition).brackets) == 2


def test_a_crossing_at_minus_one_is_exact() -> None:
    crossings = InputPencil(two_lengths(3, 8, Fraction(3, 10))).crossings()
    assert [(c.exact, c.outward) for c in crossings if c.exact is not None] == [
        (Fraction(22, 3), -1)
    ]
    [only] = InputPencil(two_lengths(1, 2, Fraction(1, 10))).crossings()
    assert (only.exact, only.outward, only.turn) == (8, -1, 1)


def test_longer_inputs_can_turn_modes_out() -> None:
    mix = two_lengths(8, 59, Fraction(9, 10))
    out = [c for c in InputPencil(mix).crossings() if c.outward > 0]
    assert [c.outward for c in out] == [2, 1]
    for crossing in out:  # near 5.69, and at 6 through z = -1
        above, below = (middle(crossing) + Fraction(sign, 100) for sign in (1, -1))
        assert outside(mix, above) == outside(mix, below) + crossing.outward


def test_modes_that_touch_the_circle_are_found_and_do_not_cross() -> None:
    assert by_cells(CrossingCondition(TOUCHING)) is None
    touching = [c for c in InputPencil(TOUCHING).crossings() if c.outward == 0]
    assert len(touching) == 1
    assert touching[0].length.contains(1)
    turn = float(touching[0].turn.mid())
    assert mpmath.cospi(turn) == pytest.approx(-1 / 8, abs=1e-15)
    # on the circle at L = 1, and as many outside above as below
    assert count_unstable(TOUCHING.weights(1)).on_circle == 2
    near = [outside(TOUCHING, 1 + Fraction(sign, 1000)) for sign in (-1, 1)]
    assert near[0] == near[1]


def test_three_zeros_that_meet_at_minus_one_are_one_crossing() -> None:
    """h has a triple zero there, T one at -2: a single root crosses, if at a slower rate."""
    condition = CrossingCondition(TRIPLE)
    assert condition.palindrome.degree() // 2 < TRIPLE.ages - 2  # a factor (z + 1)^2 went
    assert by_cells(condition) is None
    crossings = InputPencil(TRIPLE).crossings()
    [exact] = [c for c in crossings if c.exact is not None]
    assert exact.exact == 1
    change = outside(TRIPLE, Fraction(1001, 1000)) - outside(TRIPLE, Fraction(999, 1000))
    assert change == exact.outward


def test_no_crossing_of_long_inputs_holds_two_whole_lengths() -> None:
    """Each of them would be counted by itself: at 80 billion tokens, tens of thousands."""
    tiny = Fraction(1, 10**6)
    mix = LengthMix((6, 8), (tiny, 1 - tiny), (Fraction(1, 10**4),) * 2)
    crossings = InputPencil(mix).crossings()
    assert all(c.length > 10**10 for c in crossings)
    assert all(c.length.rad() < 0.5 for c in crossings)


def test_crossings_as_near_as_long_shares_make_them_are_told_apart() -> None:
    """Coefficients of more bits than a double holds enter in full, whatever the precision."""
    ratios = list(TOUCHING.input_ratios)
    ratios[1] += Fraction(1, 10**15)
    mix = LengthMix(TOUCHING.decode_lengths, TOUCHING.shares, ratios)
    pair = [c for c in InputPencil(mix).crossings() if abs(c.length - 1) < 1e-6]
    assert [c.outward for c in pair] in ([2, -2], [-2, 2])
    assert pair[0].length < pair[1].length


def test_a_zero_of_h_that_a_ball_does_not_tell_from_pi_needs_more_bits() -> None:
    """T = 2^200 (x + 2) - 1, just inside -2: dropped, a crossing would be missed."""
    near = fmpz_poly([2**201 - 1, 2**200])
    with flint_context.workprec(64):
        assert _zeros(near) is None
    with flint_context.workprec(512):
        found = _zeros(near)
    assert found is not None
    assert len(found) == 1


def test_a_mix_whose_roots_do_not_depend_on_the_input_has_no_crossings() -> None:
    assert InputPencil(NEVER).crossings() == []
    assert outside(NEVER, Fraction(0)) == outside(NEVER, Fraction(10**6)) == 0
    assert not CrossingCondition(two_lengths(1, 2, HALF)).never


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(15))
def test_counts_change_at_crossings_as_said_many(seed: int) -> None:
    for mix in random_mixes(100, seed=seed, longest=24):
        test_counts_change_at_crossings_as_said(mix)


def test_a_crossing_at_no_input_at_all_has_its_fraction_in_json() -> None:
    at = Crossing(arb(0), Fraction(0), arb(1), -2)
    assert at.to_dict()["input_length_exact"] == "0"
    assert Crossing(arb(0), None, arb(1), -2).to_dict()["input_length_exact"] is None
