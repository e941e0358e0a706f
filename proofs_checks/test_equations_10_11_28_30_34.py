"""Congestion, equations (10), (11), (28) to (30), (34), the closed form and derivative of B.9.

Symbols for shares, ratios, inputs and z where the lengths are fixed; exact rationals, as
coefficients of polynomials in z, for the lengths that Hypothesis draws. Besides, (9) holds along
the literal model wherever nothing is evicted.
"""

from fractions import Fraction
from math import gcd

import pytest
import sympy
from flint import fmpq, fmpq_poly
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.mass import iterate
from fluidkv.exact.roots.polynomial import characteristic_polynomial
from fluidkv.exact.survival import eviction_free_equilibrium, survival_weights
from fluidkv.workload import RequestClass, System, Workload
from fluidkv_papers.congestion.instances import printed
from tests.strategies import length_mixes

Z = fmpq_poly([0, 1])

TUPLES = [(1, 2), (1, 5), (2, 3), (2, 4), (4, 6), (5, 8), (1, 2, 3), (2, 4, 6), (3, 5, 9)]
TUPLES += [(1, 2, 3, 4), (2, 3, 5, 7), (3, 6, 9, 12)]

rationals = st.builds(Fraction, st.integers(1, 40), st.integers(1, 12))


mixes = length_mixes(
    divisors=st.sampled_from([1, 1, 2, 5]), longest=40, classes=5, ratios=rationals
)


def q(value: Fraction | int) -> fmpq:
    value = Fraction(value)
    return fmpq(value.numerator, value.denominator)


def exact(values) -> list[fmpq]:
    return [q(value) for value in values]


# --- symbols --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lengths", TUPLES)
def test_identities_in_symbols(lengths):
    z, l0, scale = sympy.symbols("z l0 L")
    p = sympy.symbols(f"p0:{len(lengths)}")
    r = sympy.symbols(f"r0:{len(lengths)}")
    whole = {p[-1]: 1 - sum(p[:-1])}
    d = lengths[-1]
    weighted = printed.limit(lengths, p, r, z)
    common = printed.limit(lengths, p, [1] * len(p), z)
    f = printed.equation_10(lengths, p, [l0] * len(p), z)
    # (11) and B.9, with no use of the shares' sum
    assert sympy.expand((1 - z) * weighted - printed.right_of_11(lengths, p, r, z)) == 0
    # (34), which needs it
    off = (1 - z) * common - printed.right_of_34(lengths, p, z)
    assert sympy.expand(off.subs(whole)) == 0
    assert sympy.expand(off) != 0
    # (30) for any number of classes
    assert sympy.expand(f - (l0 + d) * common + z * sympy.diff(common, z)) == 0
    # inputs r_k L: F = L A_r + C with the C of a common input
    scaled = printed.equation_10(lengths, p, [x * scale for x in r], z)
    rest = d * common - z * sympy.diff(common, z)
    assert sympy.expand(scaled - scale * weighted - rest) == 0


@pytest.mark.parametrize("lengths", [pair for pair in TUPLES if len(pair) == 2])
def test_two_class_displays_in_symbols(lengths):
    (a, n), (z, l0, p) = lengths, sympy.symbols("z l0 p")
    shares = (p, 1 - p)
    f = printed.equation_10(lengths, shares, (l0, l0), z)
    limit = printed.two_class_limit(a, n, 1 - p, z)
    correction = printed.two_class_correction(a, n, 1 - p, z)
    slope = z * sympy.diff(limit, z)
    assert sympy.expand(printed.equation_28(a, n, 1 - p, l0, z) - f) == 0
    assert sympy.expand(limit - printed.limit(lengths, shares, (1, 1), z)) == 0
    assert sympy.expand((1 - z) * limit - printed.right_of_29(a, n, p, 1 - p, z)) == 0
    assert sympy.expand(f - (l0 + 1) * limit - correction) == 0
    assert sympy.expand(correction - (n - 1) * limit + slope) == 0
    assert sympy.expand(f - (l0 + n) * limit + slope) == 0
    # the limit as l0 grows, as B.2 defines it
    ratio = sympy.Poly(sympy.expand(f), z).all_coeffs()
    limits = [sympy.limit(c / (l0 + 1), l0, sympy.oo) for c in ratio]
    assert sympy.expand(sympy.Poly(limits, z).as_expr() - limit) == 0


@pytest.mark.parametrize("lengths", [(2, 4), (3, 9), (4, 6), (2, 4, 6), (3, 6, 9, 12), (4, 8, 12)])
def test_derivative_at_roots_of_unity_in_symbols(lengths):
    """(1 - w) A_r'(w) = -sum(p r l1) / w: z times both sides agree modulo 1 + z + ... + z^(g-1)."""
    z = sympy.Symbol("z")
    p = sympy.symbols(f"p0:{len(lengths)}")
    r = sympy.symbols(f"r0:{len(lengths)}")
    limit = printed.limit(lengths, p, r, z)
    weight = sum(x * y * n for x, y, n in zip(p, r, lengths, strict=True))
    modulus = sum(z**j for j in range(gcd(*lengths)))
    off = z * (1 - z) * sympy.diff(limit, z) + weight
    assert sympy.expand(sympy.rem(sympy.expand(off), modulus, z)) == 0
    assert sympy.expand(sympy.rem(sympy.expand(limit), modulus, z)) == 0  # Lemma 13, B.8.4


# --- exact rationals ------------------------------------------------------------------------------


@given(mixes, rationals)
def test_identities_in_rationals(mix, scale):
    lengths, d = mix.decode_lengths, mix.ages
    p, r = exact(mix.shares), exact(mix.input_ratios)
    ones, length = [q(1)] * len(p), q(scale)
    weighted = printed.limit(lengths, p, r, Z)
    common = printed.limit(lengths, p, ones, Z)
    f = printed.equation_10(lengths, p, [length] * len(p), Z)
    assert (1 - Z) * weighted == printed.right_of_11(lengths, p, r, Z)
    assert (1 - Z) * common == printed.right_of_34(lengths, p, Z)
    assert f == (length + d) * common - Z * common.derivative()
    # the engine's polynomials are these, times its denominator
    for weights, literal in (
        (mix.limit, weighted),
        (mix.weights(scale), printed.equation_10(lengths, p, [x * length for x in r], Z)),
    ):
        assert fmpq_poly(characteristic_polynomial(weights)) == weights.denominator * literal


@given(mixes)
def test_derivative_at_roots_of_unity_in_rationals(mix):
    lengths = mix.decode_lengths
    p, r = exact(mix.shares), exact(mix.input_ratios)
    limit = printed.limit(lengths, p, r, Z)
    weight = sum(x * y * n for x, y, n in zip(p, r, lengths, strict=True))
    modulus = fmpq_poly([1] * mix.decode_gcd)
    if mix.decode_gcd > 1:
        assert (Z * (1 - Z) * limit.derivative() + weight) % modulus == 0
    assert weight != 0


@given(mixes, rationals)
def test_two_class_displays_in_rationals(mix, l0):
    (a, n), share = mix.decode_lengths[:2], q(mix.shares[0])
    rest, length = 1 - share, q(l0)
    f = printed.equation_28(a, n, rest, length, Z)
    limit = printed.two_class_limit(a, n, rest, Z)
    correction = printed.two_class_correction(a, n, rest, Z)
    assert f == printed.equation_10((a, n), (share, rest), (length, length), Z)
    assert (1 - Z) * limit == printed.right_of_29(a, n, share, rest, Z)
    assert correction == (n - 1) * limit - Z * limit.derivative()
    assert f == (length + 1) * limit + correction == (length + n) * limit - Z * limit.derivative()


# --- the literal model ----------------------------------------------------------------------------


@st.composite
def near_equilibrium(draw: st.DrawFn) -> tuple[System, list[list[Fraction]], list[Fraction]]:
    """A system, a state of cohorts near its eviction-free equilibrium, and those cohorts."""
    parts = draw(st.lists(st.integers(1, 9), min_size=2, max_size=4))
    classes = tuple(
        RequestClass(draw(st.integers(1, 30)), draw(st.integers(1, 6)), Fraction(x, sum(parts)))
        for x in parts
    )
    system = System(Workload(classes), 60 + draw(st.integers(0, 900)))
    rate, d = eviction_free_equilibrium(system).rate, system.workload.longest_decode
    v = survival_weights(system.workload).memory
    # so small that no factor of the next 2 d iterations makes it an eviction
    cohorts = [rate * (1 + Fraction(draw(st.integers(-9, 9)), 10**9)) for _ in range(d)]
    used = sum(w * y for w, y in zip(v, cohorts, strict=True))
    cohorts = [y * rate * sum(v) / used for y in cohorts]
    state = [[c.share * y for y in cohorts[: c.decode_length]] for c in classes]
    return system, state, cohorts


@given(near_equilibrium())
def test_equation_9_along_the_literal_model(start):
    system, state, cohorts = start
    classes, d = system.workload.classes, system.workload.longest_decode
    rows = sorted((c.decode_length, c.share, c.input_length) for c in classes)
    lengths, shares, inputs = zip(*rows, strict=True)
    admitted = cohorts[::-1]
    for _ in range(2 * d):
        step = iterate(system, state)
        assert not any(sum(row) for row in step.evicted)
        state = step.state
        admitted.append(sum(step.admitted, Fraction(0)))
        delta = [admitted[-1 - m] - admitted[-2 - m] for m in range(d)]
        assert printed.equation_9(lengths, shares, inputs, delta) == 0


def test_equation_9_fails_where_something_is_evicted():
    """So the test above would notice a model in which evictions leave no trace."""
    half = Fraction(1, 2)
    system = System(Workload((RequestClass(5, 2, half), RequestClass(5, 4, half))), 100)
    state = [[Fraction(100, 12), Fraction(0)], [Fraction(100, 12), *[Fraction(0)] * 3]]
    admitted, evictions = [Fraction(100, 6)], 0
    values = []
    for _ in range(12):
        step = iterate(system, state)
        evictions += any(sum(row) > 0 for row in step.evicted)
        state = step.state
        admitted.append(sum(step.admitted, Fraction(0)))
        if len(admitted) > 4:
            delta = [admitted[-1 - m] - admitted[-2 - m] for m in range(4)]
            values.append(printed.equation_9((2, 4), (half, half), (5, 5), delta))
    assert evictions > 0
    assert any(value != 0 for value in values)


@given(mixes, rationals, st.data())
def test_token_balance_of_b_1(mix, l0, data):
    (a, n), share = mix.decode_lengths[:2], mix.shares[0]
    x = [data.draw(rationals) for _ in range(n + 1)]  # newest first
    delta = [x[m] - x[m + 1] for m in range(n)]
    rest = 1 - share
    right = printed.token_balance(a, n, share, rest, l0, lambda i: x[1 - i])
    memory = printed.equation_9((a, n), (share, rest), (l0, l0), delta)
    assert (l0 + 1) * x[0] - right == memory
