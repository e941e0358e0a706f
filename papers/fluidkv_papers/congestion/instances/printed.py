"""Equations (9) to (34) of Congestion as printed, over any ring: symbols, rationals, polynomials.

`lengths` are l1_k in ascending order, `shares` p_k, `inputs` l0_k, `ratios` r_k, one a class.
`a`, `n`, `p`, `q`, `l0` stand for l1_1, l1_2, p, q and l0 of the case of two classes.
"""

from collections.abc import Callable, Sequence
from typing import Any

Ring = Any
"""sympy expressions, Fractions, or python-flint numbers and polynomials; one kind at a time."""


def equation_9(
    lengths: Sequence[int], shares: Sequence[Ring], inputs: Sequence[Ring], delta: Sequence[Ring]
) -> Ring:
    """The left side of (9); delta[m] is Delta^{n-m}."""
    rows = list(zip(lengths, shares, inputs, strict=True))
    return _sum(
        _sum(p * (l0 + 1 + m) for length, p, l0 in rows if length > m) * delta[m]
        for m in range(lengths[-1])
    )


def equation_10(
    lengths: Sequence[int], shares: Sequence[Ring], inputs: Sequence[Ring], z: Ring
) -> Ring:
    """F(z), equation (10)."""
    d = lengths[-1]
    return equation_9(lengths, shares, inputs, [z ** (d - 1 - m) for m in range(d)])


def limit(lengths: Sequence[int], shares: Sequence[Ring], ratios: Sequence[Ring], z: Ring) -> Ring:
    """A(z), displayed above (11); A_r(z) of B.9."""
    d, rows = lengths[-1], list(zip(lengths, shares, ratios, strict=True))
    return _sum(
        _sum(p * r for length, p, r in rows if length > m) * z ** (d - 1 - m) for m in range(d)
    )


def right_of_11(
    lengths: Sequence[int], shares: Sequence[Ring], ratios: Sequence[Ring], z: Ring
) -> Ring:
    """-R z^d + sum of p_k r_k z^{d - l1_k}: equation (11), and the closed form of B.9."""
    d = lengths[-1]
    weights = [p * r for p, r in zip(shares, ratios, strict=True)]
    powers = [w * z ** (d - n) for n, w in zip(lengths, weights, strict=True)]
    return -_sum(weights) * z**d + _sum(powers)


def right_of_34(lengths: Sequence[int], shares: Sequence[Ring], z: Ring) -> Ring:
    """-z^d + sum of p_k z^{d - l1_k}."""
    d = lengths[-1]
    return _sum(p * z ** (d - n) for n, p in zip(lengths, shares, strict=True)) - z**d


def token_balance(a: int, n: int, p: Ring, q: Ring, l0: Ring, x: Callable[[int], Ring]) -> Ring:
    """Right side of the recurrence of B.1 for (l0 + 1) x^{1}; x(i) is x_0^i, the current n is 0."""
    old = (l0 + n) * q * x(-n + 1) + ((l0 + a) * p - q) * x(-a + 1)
    return (
        old - _sum(x(i) for i in range(-a + 2, 1)) - q * _sum(x(i) for i in range(-n + 2, -a + 1))
    )


def equation_28(a: int, n: int, q: Ring, l0: Ring, z: Ring) -> Ring:
    """F(z) of two classes, equation (28)."""
    young = _sum((l0 + m + 1) * z ** (n - 1 - m) for m in range(1, a))
    old = _sum((l0 + m + 1) * z ** (n - 1 - m) for m in range(a, n))
    return (l0 + 1) * z ** (n - 1) + young + q * old


def two_class_limit(a: int, n: int, q: Ring, z: Ring) -> Ring:
    """A(z) of B.2."""
    young = _sum(z ** (n - 1 - m) for m in range(1, a))
    return z ** (n - 1) + young + q * _sum(z ** (n - 1 - m) for m in range(a, n))


def two_class_correction(a: int, n: int, q: Ring, z: Ring) -> Ring:
    """B(z) of B.2, the sum that is displayed."""
    young = _sum(m * z ** (n - 1 - m) for m in range(1, a))
    return young + q * _sum(m * z ** (n - 1 - m) for m in range(a, n))


def right_of_29(a: int, n: int, p: Ring, q: Ring, z: Ring) -> Ring:
    return -(z**n) + p * z ** (n - a) + q


def _sum(terms: Any) -> Ring:
    total: Ring = 0
    for term in terms:
        total = total + term
    return total
