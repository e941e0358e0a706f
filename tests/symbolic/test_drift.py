"""The series of a branch: its residual is of the order that it claims, and balls agree."""

from fractions import Fraction

import pytest
import sympy
from flint import acb, arb
from hypothesis import given, settings

from fluidkv import exact, symbolic
from fluidkv.errors import InputError
from fluidkv.exact.mixed import motion
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.mixed.motion.drift import drift_bound
from fluidkv.exact.precision import working
from fluidkv.symbolic import INPUT_LENGTH, Z
from tests.strategies import length_mixes, positive_rationals

EPS = sympy.Symbol("eps")
HALVES = [Fraction(1, 2)]


def at(series: sympy.Expr, length: int) -> acb:
    """The series at an input length, to 40 digits, in the current precision."""
    real, imaginary = series.subs(INPUT_LENGTH, length).evalf(40).as_real_imag()
    return acb(arb(str(real)), arb(str(imaginary)))


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "mix",
    [LengthMix((2, 4), HALVES), LengthMix((2, 6), HALVES, (1, Fraction(3, 2)))],
    ids=["common input", "other inputs"],
)
def test_what_is_left_of_f_is_of_the_next_order(mix, order):
    """F at the series, in eps = 1 / (L + d): its terms to eps^order vanish, the next does not."""
    series = symbolic.drift_series(mix, -1, order).subs(INPUT_LENGTH, 1 / EPS - mix.ages)
    f = symbolic.characteristic_polynomial(mix).subs(INPUT_LENGTH, 1 / EPS - mix.ages)
    rest = sympy.Poly(sympy.expand(EPS * f.subs(Z, series)), EPS).all_coeffs()[::-1]
    assert not any(rest[: order + 1])
    assert rest[order + 1] != 0


@pytest.mark.thorough
@settings(max_examples=5)
@given(length_mixes(longest=4, ratios=positive_rationals))
def test_it_agrees_with_the_balls_and_the_branch(mix):
    """To 1e-25 with the two orders in balls, and with the tracked root within the proved bound."""
    length, root = 1000, exact.limit_roots(mix)[0]
    drift = motion.drift.drift(mix, root)
    if drift.first is None or drift.second is None:  # a multiple root has no series
        return
    series = symbolic.drift_series(mix, root)
    with working(256):
        value = at(series, length)
        eps = 1 / arb(length + mix.ages)
        by_balls = root.ball + drift.first * eps + drift.second * eps**2
        assert abs(by_balls - value) < 1e-25
        (point,) = exact.track(mix, root, [length]).points
        bound = drift_bound(mix, root, length)
        assert bound.constant is not None
        assert abs(point.ball - value) <= bound.constant * eps**3


@pytest.mark.parametrize(
    "mix", [LengthMix((2, 3), HALVES), LengthMix((1, 3, 5), [Fraction(1, 2), Fraction(1, 4)])]
)
def test_of_any_root_it_is_equation_31(mix):
    """c_2 = alpha/2 (alpha A''/A' + 2), with shares and the root as symbols."""
    root = sympy.Symbol("alpha")
    series = symbolic.drift_series(mix, root, shares=True)
    a = symbolic.limit_polynomial(mix, shares=True)
    slope, curve = (sympy.diff(a, Z, k).subs(Z, root) for k in (1, 2))
    second = root / 2 * (root * curve / slope + 2)
    eps = 1 / (INPUT_LENGTH + mix.ages)
    assert sympy.cancel(series - root * (1 + eps) - second * eps**2) == 0


def test_a_root_of_unity_drifts_outward_by_the_printed_rate():
    """(sum of p l1) / (sum of p r l1) with other inputs: B.9."""
    mix = LengthMix((3, 6), HALVES, (1, Fraction(3, 2)))
    root = sympy.exp(2 * sympy.pi * sympy.I / 3)
    first = symbolic.drift_series(mix, root, 1) - root
    assert sympy.simplify(first / root * (INPUT_LENGTH + 6)) == sympy.Rational(9, 12)


@pytest.mark.parametrize(
    ("mix", "root", "said"),
    [
        (LengthMix((2, 4), HALVES), 1, "root: got 1; allowed: a root of the limit A_r"),
        (LengthMix((2, 3), HALVES), -1, "root: got -1; allowed: a root of the limit A_r"),
        (LengthMix((2, 3), HALVES), sympy.pi, "root: got pi; allowed: .*an algebraic number"),
        (
            LengthMix((2, 3), [Fraction(3, 4)]),
            sympy.Rational(-1, 2),
            "root: got -1/2; allowed: a simple root",
        ),
    ],
)
def test_what_is_no_simple_root_is_refused(mix, root, said):
    with pytest.raises(InputError, match=said):
        symbolic.drift_series(mix, root)


def test_an_order_below_one_is_refused():
    with pytest.raises(InputError, match="order: got 0; allowed: an integer of at least 1"):
        symbolic.drift_series(LengthMix((2, 4), HALVES), -1, 0)
