"""The equation of the boundary, and its roots, beside the crossings that are found by angles."""

import math
from fractions import Fraction

import pytest
import sympy
from flint import arb
from hypothesis import given, settings

from fluidkv import exact, symbolic
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.mixed.thresholds.pencil import Crossing, InputPencil
from fluidkv.exact.precision import working
from fluidkv.symbolic import INPUT_LENGTH, Z
from tests.exact.mixed.mixes import NEVER, TOUCHING, TRIPLE, random_mixes
from tests.strategies import length_mixes, positive_rationals

HALF = Fraction(1, 2)
FIVE_NINE = LengthMix((5, 9), [HALF])


def as_ball(value: sympy.Expr) -> arb:
    """A real algebraic number to 40 digits, as a ball that holds it."""
    return arb(str(value.evalf(40)), 1e-30 * (1 + abs(float(value))))


def held_to_the_pencil(mix: LengthMix) -> None:
    """The same crossings in the same order, and the same modes beyond the last of them."""
    found = symbolic.stability_boundary(mix)
    by_angles: list[Crossing] = [
        c for c in InputPencil(mix).crossings() if c.length > 0 and c.outward != 0
    ]
    with working(256):
        for crossing in by_angles:
            touching = [r for r in found.crossings if as_ball(r).overlaps(crossing.length)]
            assert len(touching) == 1
    assert found.growing_modes[-1] == mix.decode_gcd - 1
    steps = dict.fromkeys(found.crossings, 0)
    for crossing in by_angles:
        root = min(found.crossings, key=lambda r: abs(float(r) - float(crossing.length.mid())))
        steps[root] += crossing.outward
    changes = zip(found.growing_modes, found.growing_modes[1:], strict=False)
    assert [b - a for a, b in changes if a != b] == list(steps.values())


@settings(max_examples=15)
@given(length_mixes(longest=9, ratios=positive_rationals))
def test_crossings_are_those_that_angles_give(mix):
    held_to_the_pencil(mix)


@pytest.mark.parametrize("mix", [TOUCHING, TRIPLE, NEVER, FIVE_NINE, LengthMix((11, 16), [HALF])])
def test_crossings_of_special_mixes_are_those_that_angles_give(mix):
    held_to_the_pencil(mix)


@pytest.mark.thorough
@pytest.mark.parametrize("mix", random_mixes(40, seed=7, longest=14))
def test_crossings_of_longer_mixes_are_those_that_angles_give(mix):
    held_to_the_pencil(mix)


@pytest.mark.parametrize("mix", random_mixes(12, seed=3, longest=9))
def test_each_window_of_the_threshold_has_its_modes(mix):
    """At every whole input length up to the last crossing, and one beyond."""
    found = symbolic.stability_boundary(mix)
    for window in exact.input_threshold(mix).windows:
        for length in {max(1, window.first), window.last or window.first + 1}:
            stretch = sum(1 for root in found.roots if root < length)
            if length not in found.roots and (window.last is None or length <= window.last):
                assert found.growing_modes[stretch] == window.growing_modes


@settings(max_examples=15)
@given(length_mixes(longest=8, ratios=positive_rationals))
def test_the_boundary_is_where_the_last_stable_window_begins(mix):
    boundary = symbolic.stability_boundary(mix).boundary
    last = exact.input_threshold(mix).windows[-1]
    if boundary is None:
        assert not last.stable or last.first <= 1  # from the shortest input there is
    else:
        assert last.stable
        assert last.first == math.floor(boundary) + 1


def test_a_mode_that_only_touches_the_circle_is_a_root_and_no_crossing():
    found = symbolic.stability_boundary(TOUCHING)
    assert 1 in found.roots
    assert 1 not in found.crossings


@pytest.mark.parametrize(
    "mix", [FIVE_NINE, LengthMix((2, 4, 5), [HALF, Fraction(1, 4)], (1, 2, 3))]
)
def test_the_equation_divides_the_resultant_of_f_and_its_reciprocal(mix):
    """Res(F, F*) = 0 wherever F has a root on the circle, or a pair z, 1/z: a second way to it."""
    f = symbolic.characteristic_polynomial(mix)
    reciprocal = sympy.expand(Z ** (mix.ages - 1) * f.subs(Z, 1 / Z))
    resultant = sympy.Poly(sympy.resultant(f, reciprocal, Z), INPUT_LENGTH)
    equation = sympy.Poly(symbolic.boundary_equation(mix), INPUT_LENGTH)
    assert resultant.rem(equation.sqf_part()).is_zero


def test_with_shares_it_is_the_same_equation_at_each_of_them():
    (share,) = symbolic.class_symbols(2)[0][:1]
    general = symbolic.boundary_equation(FIVE_NINE, shares=True)
    for value in (Fraction(1, 5), HALF, Fraction(7, 9)):
        there = sympy.Poly(general.subs(share, sympy.Rational(value)), INPUT_LENGTH)
        own = sympy.Poly(symbolic.boundary_equation(LengthMix((5, 9), [value])), INPUT_LENGTH)
        assert there.monic() == own.monic()


def test_it_shows_the_equation_and_decimals():
    text = symbolic.stability_boundary(FIVE_NINE)._repr_latex_()
    assert text.startswith(r"$\displaystyle \begin{aligned}0 &= \left(l_{0} + 4\right)")
    assert "64.43341" in text
