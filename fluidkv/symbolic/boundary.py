"""The input lengths at which a mix may turn stable, as the roots of one polynomial.

Where a real polynomial F = sum of V_s z^{n-s}, n = d - 1, has a root on the unit circle, either
F(1) = 0, F(-1) = 0, or a pair of roots has the product 1. The last is a determinant of n - 1 rows,

    det(X - Y) = V_0^{n-1} product over i < j of (1 - z_i z_j),

X upper triangular with V_0 V_1 ... in its first row, Y with V_n in its antidiagonal and V_{n-1}
V_{n-2} ... below it. V is linear in L, so it is a polynomial in L of degree d - 2 at most. F(1) is
positive. So the positive roots of F(-1) det(X - Y) cut the axis of input lengths into stretches on
which the number of growing modes does not change, and one exact count on each of them tells which
roots matter: pairs z, 1/z off the circle make roots of the equation too.

This knows nothing of the crossings of `fluidkv.exact.mixed.thresholds.pencil.InputPencil`, which
finds angles first.

Sources: E. I. Jury, Inners and Stability of Dynamic Systems (1974), for the determinant;
Congestion, section 4.3, for the question.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import sympy
from sympy import Expr, Poly
from sympy.polys.matrices import DomainMatrix

from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.roots.polynomial import characteristic_polynomial, count_outside_and_on
from fluidkv.symbolic.formulas import Formulas
from fluidkv.symbolic.symbols import INPUT_LENGTH, coefficients


@dataclass(frozen=True)
class StabilityBoundary(Formulas):
    """Where a mix turns stable; exact.

    Fields:
        equation: a polynomial in l0 that is 0 wherever a mode stands on the unit circle.
        roots: its positive roots, ascending, each once: numbers, or roots of polynomials by number.
        growing_modes: roots of F outside the circle before the first root, between each two, and
            beyond the last: one more number than there are roots.

    Examples:
        >>> from fluidkv.symbolic import stability_boundary
        >>> found = stability_boundary(fk.LengthMix((5, 9), [Fraction(1, 2)]))
        >>> [round(float(root), 3) for root in found.roots], found.growing_modes
        ([1.117, 3.772, 12.701, 64.433], (8, 6, 4, 2, 0))
    """

    equation: Expr = field(metadata={"latex": "0"})
    roots: tuple[Expr, ...] = field(metadata={"latex": "l_0"})
    growing_modes: tuple[int, ...]

    @property
    def crossings(self) -> tuple[Expr, ...]:
        """The roots at which modes go out or come in."""
        changes = zip(self.roots, pairwise(self.growing_modes), strict=True)
        return tuple(root for root, (before, after) in changes if before != after)

    @property
    def boundary(self) -> Expr | None:
        """The input length beyond which the mix is stable and up to which it is not.

        None where it is stable at every length above 0, or where no long input makes it stable: the
        decode lengths have a common divisor then. Its floor and 1 is the first length of the last
        window of `fluidkv.input_threshold`: l0_min, unless shorter inputs have an island.
        """
        return self.crossings[-1] if self.crossings and self.growing_modes[-1] == 0 else None


def boundary_equation(mix: LengthMix, *, shares: bool = False, ratios: bool = False) -> Expr:
    """A polynomial in l0 that is 0 wherever a mode of the mix stands on the unit circle.

    F(-1) det(X - Y), each part without what is common to its coefficients. Its degree is d - 1 at
    most; d = 30 takes a second, and eight times as long for each doubling at least.

    Args:
        mix: decode lengths, shares and input ratios.
        shares, ratios: as in `characteristic_polynomial`; the boundary is then a curve or surface.

    Source: Jury (1974); the top of this file.

    Examples:
        >>> from fluidkv.symbolic import boundary_equation
        >>> boundary_equation(fk.LengthMix((2, 3), [Fraction(1, 2)]))
        (l0 - 1)*(l0 + 1)
        >>> boundary_equation(fk.LengthMix((2, 3), [Fraction(1, 2)]), shares=True)
        (l0*p1 + 3*p1 - 2)*(l0*p1 - l0 + 3*p1 - 2)
    """
    memory = coefficients(mix, shares=shares, ratios=ratios).memory
    n = len(memory) - 1
    at_minus_one = sympy.Add(*((-1) ** s * v for s, v in enumerate(reversed(memory))))
    pairs = _pair_determinant([sympy.expand(v) for v in memory]) if n > 1 else sympy.Integer(1)
    return _primitive(at_minus_one) * _primitive(pairs)


def stability_boundary(mix: LengthMix) -> StabilityBoundary:
    """The equation of the boundary, its positive roots, and what happens at each of them.

    Args:
        mix: decode lengths, shares and input ratios.

    Source: as `boundary_equation`; the counts by Schur and Cohn, in integers.

    Examples:
        >>> from fluidkv.symbolic import stability_boundary
        >>> found = stability_boundary(fk.LengthMix((2, 3), [Fraction(1, 2)]))
        >>> found.boundary, found.growing_modes
        (1, (2, 0))
        >>> stability_boundary(fk.LengthMix((2, 4), [Fraction(1, 2)])).boundary is None
        True
    """
    equation = boundary_equation(mix)
    positive = _without_zero(Poly(equation, INPUT_LENGTH))
    real: Any = positive.real_roots() if positive.degree() > 0 else ()
    roots = tuple(root for root in dict.fromkeys(real) if root.is_positive)
    modes = tuple(_outside(mix, length) for length in _samples(positive))
    return StabilityBoundary(equation, roots, modes)


def _pair_determinant(memory: list[Expr]) -> Expr:
    """det(X - Y), in polynomials of the symbols of V."""
    built: Any = sympy.construct_domain(memory)
    domain, v = built
    n = len(v) - 1
    rows = [
        [
            (v[j - i] if j >= i else domain.zero)
            - (v[2 * n - 2 - i - j] if i + j >= n - 2 else domain.zero)
            for j in range(n - 1)
        ]
        for i in range(n - 1)
    ]
    return domain.to_sympy(DomainMatrix(rows, (n - 1, n - 1), domain).det())


def _primitive(value: Expr) -> Expr:
    """Without what its coefficients share, the first of them positive; 1 if l0 is not in it."""
    if INPUT_LENGTH not in value.free_symbols:
        return sympy.Integer(1)
    others = sorted(value.free_symbols - {INPUT_LENGTH}, key=str)
    whole = Poly(value, INPUT_LENGTH, *others).clear_denoms(convert=True)[1].primitive()[1]
    return (whole if whole.LC() > 0 else -whole).as_expr()


def _without_zero(polynomial: Poly) -> Poly:
    """The polynomial without its roots at 0."""
    return polynomial.terms_gcd()[1]


def _samples(polynomial: Poly) -> list[Fraction]:
    """A rational number before its first positive root, between each two, and beyond the last.

    Roots are isolated in intervals with rational ends, narrower until no two of them touch.
    """
    width = sympy.Rational(1)
    while True:
        intervals: Any = polynomial.intervals(eps=width, inf=0) if polynomial.degree() > 0 else ()
        ends = [0, *(x for (low, high), _ in intervals for x in (low, high))]
        gaps = list(zip(ends[::2], ends[1::2], strict=False))
        if all(left < right for left, right in gaps):
            between = [_fraction((left + right) / 2) for left, right in gaps]
            return [*between, _fraction(ends[-1]) + 1]
        width /= 16


def _fraction(value: Any) -> Fraction:
    return Fraction(int(value.numerator), int(value.denominator))


def _outside(mix: LengthMix, length: Fraction) -> int:
    """Roots of F outside the circle where none is on it.

    Raises:
        RuntimeError: one is on it, which would be an error in the equation.
    """
    outside, on_circle = count_outside_and_on(characteristic_polynomial(mix.weights(length)))
    if on_circle:
        raise RuntimeError(f"{on_circle} modes on the circle at {length}, no root of the equation")
    return outside
