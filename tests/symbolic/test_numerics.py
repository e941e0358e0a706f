"""Expressions as functions of JAX; roots to many digits, inside the certified balls."""

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from flint import acb, arb
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv import exact, symbolic
from fluidkv.errors import InputError
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.precision import working
from fluidkv.exact.roots.polynomial import enclosed_roots
from fluidkv.symbolic import CAPACITY, DECODE_LENGTH, INPUT_LENGTH, Z
from fluidkv.symbolic.numerics import Roots
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import length_mixes, positive_rationals

HALF = Fraction(1, 2)
MIX = LengthMix((5, 9), [HALF])


def test_a_function_of_jax_under_jit_vmap_and_grad():
    rate = symbolic.equilibrium().rate
    symbols = (INPUT_LENGTH, DECODE_LENGTH, CAPACITY)
    with jax.enable_x64(True):
        f = symbolic.to_jax(rate, symbols)
        lengths = jnp.asarray([10.0, 100.0, 1000.0])
        many = jax.jit(jax.vmap(f, in_axes=(0, None, None)))(lengths, 20.0, 1e4)
        slopes = jax.vmap(jax.grad(f), in_axes=(0, None, None))(lengths, 20.0, 1e4)
    for k, l0 in enumerate((10, 100, 1000)):
        values: Any = {INPUT_LENGTH: l0, DECODE_LENGTH: 20, CAPACITY: 10**4}
        assert many[k] == pytest.approx(float(rate.subs(values)), rel=1e-14)
        slope = sympy.diff(rate, INPUT_LENGTH).subs(values)
        assert slopes[k] == pytest.approx(float(slope), rel=1e-13)


def test_f_at_complex_points_is_that_of_its_coefficients():
    weights, z = MIX.weights(40), np.exp(2j * np.pi * np.arange(7) / 7)
    with jax.enable_x64(True):
        f = jax.jit(symbolic.to_jax(symbolic.characteristic_polynomial(MIX), (Z, INPUT_LENGTH)))
        ours = f(jnp.asarray(z), 40.0)
    expected = np.polyval(weights.memory, z) / weights.denominator
    np.testing.assert_allclose(ours, expected, rtol=1e-13)


def test_roots_by_number_and_relations_and_sequences_become_numbers():
    boundary: Any = symbolic.stability_boundary(MIX).boundary
    both = (INPUT_LENGTH - boundary, boundary < INPUT_LENGTH)
    with jax.enable_x64(True):
        off, beyond = symbolic.to_jax(both, INPUT_LENGTH)(jnp.asarray([64.0, 65.0]))
    assert beyond.tolist() == [False, True]
    np.testing.assert_allclose(off, np.array([64, 65]) - float(boundary), rtol=1e-13)


def test_integers_longer_than_a_word_become_floats():
    x = sympy.Symbol("x")
    value = symbolic.to_jax(10**30 * x + sympy.Rational(10**25, 3), x)(2.0)
    assert float(value) == pytest.approx(2e30, rel=1e-5)


def test_a_symbol_that_has_no_argument_is_named():
    with pytest.raises(InputError, match="also M, l1 of the expression"):
        symbolic.to_jax(symbolic.equilibrium().rate, INPUT_LENGTH)


# ------------------------------------------------------------------------------------------- roots


def as_ball(value: sympy.Expr, digits: int) -> acb:
    real, imaginary = value.as_real_imag()
    return acb(arb(str(real), 10.0**-digits), arb(str(imaginary), 10.0**-digits))


def inside(certified: list[tuple[acb, int]], found: Roots, digits: int) -> bool:
    """Whether each certified ball holds one of the roots, with the same multiplicity."""
    balls = [as_ball(value, digits) for value in found.values]
    pairs = [
        [m for b, m in zip(balls, found.multiplicities, strict=True) if b.overlaps(ball)]
        for ball, _ in certified
    ]
    return pairs == [[times] for _, times in certified] and len(balls) == len(certified)


@settings(max_examples=15)
@given(length_mixes(longest=9, ratios=positive_rationals), st.integers(0, 3000))
def test_roots_of_f_lie_in_the_balls(mix, length):
    f: Any = symbolic.characteristic_polynomial(mix).subs(INPUT_LENGTH, length)
    found = symbolic.roots(f)
    with working(200):
        polynomial = exact.characteristic_polynomial(mix.weights(length))
        assert inside(enclosed_roots(polynomial), found, digits=45)
    assert max(found.errors) < 1e-50


def test_multiple_roots_are_found_as_such():
    mix = LengthMix((2, 3), [Fraction(3, 4)])  # A = (z + 1/2)^2
    found = symbolic.roots(symbolic.limit_polynomial(mix), digits=30)
    assert found.values == (sympy.Float("-0.5", 30),)
    assert found.multiplicities == (2,)


def test_the_leading_root_has_the_certified_radius():
    workload = Workload((RequestClass(100, 12, HALF), RequestClass(30, 20, HALF)))
    found = symbolic.roots(symbolic.characteristic_polynomial(workload), digits=30)
    low, high = exact.stability(System(workload, 1000)).spectral_radius
    assert low <= float(abs(found.values[0])) <= high


@pytest.mark.parametrize(
    "polynomial",
    [Z * INPUT_LENGTH + 1, sympy.sin(Z), sympy.sqrt(2) * Z + 1, sympy.Integer(3), 1 / Z],
    ids=str,
)
def test_what_is_no_polynomial_in_one_symbol_is_refused(polynomial):
    with pytest.raises(InputError, match="a polynomial in one symbol with rational coefficients"):
        symbolic.roots(polynomial)


def test_no_digits_are_refused():
    with pytest.raises(InputError, match="digits: got 0; allowed: an integer of at least 1"):
        symbolic.roots(Z + 1, 0)
