"""F and its limit as expressions: equal to the exact ones, and to what the paper prints."""

from fractions import Fraction
from typing import Any

import pytest
import sympy
from flint import acb, arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv import exact, symbolic
from fluidkv.errors import InputError
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.precision import working
from fluidkv.exact.roots.polynomial import enclosed_roots
from fluidkv.exact.survival import SurvivalWeights
from fluidkv.symbolic import INPUT_LENGTH, Z
from fluidkv_papers.congestion.instances import printed
from tests.strategies import length_mixes, positive_rationals, workloads

MIXES = [LengthMix((2, 3), [Fraction(1, 2)]), LengthMix((2, 4, 6), [Fraction(1, 3)] * 2)]


def rationals(weights: SurvivalWeights) -> list[Any]:
    return [sympy.Rational(v, weights.denominator) for v in weights.memory]


def descending(expression: Any) -> list[Any]:
    return sympy.Poly(expression, Z).all_coeffs()


@given(length_mixes(ratios=positive_rationals), positive_rationals)
def test_coefficients_are_the_exact_weights_at_each_input_length(mix, length):
    f = symbolic.characteristic_polynomial(mix).subs(INPUT_LENGTH, sympy.Rational(length))
    assert descending(f) == rationals(mix.weights(length))
    assert descending(symbolic.limit_polynomial(mix)) == rationals(mix.limit)


@given(workloads())
def test_a_workload_has_its_own_inputs(workload):
    f = symbolic.characteristic_polynomial(workload)
    assert descending(f) == rationals(exact.survival_weights(workload))


@settings(max_examples=20)
@given(length_mixes(), st.booleans())
def test_with_a_common_input_it_is_equation_30(mix, shares):
    f = symbolic.characteristic_polynomial(mix, shares=shares)
    a = symbolic.limit_polynomial(mix, shares=shares)
    assert sympy.expand(f - ((INPUT_LENGTH + mix.ages) * a - Z * sympy.diff(a, Z))) == 0


@pytest.mark.parametrize("mix", MIXES, ids=lambda mix: str(mix.decode_lengths))
def test_with_symbols_it_is_equation_10_as_printed(mix):
    shares, ratios = symbolic.class_symbols(len(mix.decode_lengths))
    inputs = [r * INPUT_LENGTH for r in ratios]
    f = symbolic.characteristic_polynomial(mix, shares=True, ratios=True)
    assert sympy.expand(f - printed.equation_10(mix.decode_lengths, shares, inputs, Z)) == 0
    a = symbolic.limit_polynomial(mix, shares=True, ratios=True)
    assert sympy.expand(a - printed.limit(mix.decode_lengths, shares, ratios, Z)) == 0


@settings(max_examples=20)
@given(length_mixes(ratios=positive_rationals))
def test_its_roots_by_balls_are_roots_of_the_expression(mix):
    """One of the balls of each pair, at L = 7, to 60 digits."""
    f = symbolic.characteristic_polynomial(mix).subs(INPUT_LENGTH, 7)
    with working(256):
        balls = enclosed_roots(exact.characteristic_polynomial(mix.weights(7)))
        values = [evaluated(f, ball) for ball, _ in balls]
        assert all(value.contains(0) for value in values)
        assert all(float(abs(value).upper()) < 1e-60 for value in values)


def evaluated(expression: Any, ball: acb) -> acb:
    """A polynomial in z with rational coefficients, in balls."""
    total = acb(0)
    for c in descending(expression):
        total = total * ball + arb(fmpq(int(c.p), int(c.q)))
    return total


def test_ratios_of_a_workload_are_refused():
    workload = MIXES[0].workload(5)
    with pytest.raises(InputError, match="ratios: got True; allowed: False for a workload"):
        symbolic.characteristic_polynomial(workload, ratios=True)


def test_it_shows_as_a_formula():
    assert symbolic.limit_polynomial(MIXES[0])._repr_latex_().startswith("$\\displaystyle z^{2}")


def test_class_symbols_of_no_class_are_refused():
    with pytest.raises(InputError, match="classes: got 0"):
        symbolic.class_symbols(0)
