"""How a root of F leaves that of its limit, to any order in 1 / (l0 + d).

With eps = 1 / (L + d), eps F = P + eps Q, where P = A_r and Q is the sum of growth_s z^{d-1-s}
less d A_r. A simple root alpha of P continues to z = alpha + z1 eps + z2 eps^2 + ..., and each z_k
follows from those before it: the coefficient of eps^k in P + eps Q is P'(alpha) z_k and terms that
are known.

Source: Congestion, Theorem 24, (31) and B.9; any order is ours.
"""

from collections.abc import Callable, Sequence
from math import gcd
from typing import Any

import sympy
from sympy import Expr, Poly
from sympy.polys.polyerrors import NotAlgebraic

from fluidkv.errors import InputError
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.mixed.motion.limit import LimitRoot
from fluidkv.symbolic.symbols import INPUT_LENGTH, Z, coefficients, polynomial

_ALPHA = sympy.Symbol("alpha")


def drift_series(
    mix: LengthMix, root: LimitRoot | Expr | int, order: int = 2, *, shares: bool = False
) -> Expr:
    """alpha + z1 / (l0 + d) + ... + z_order / (l0 + d)^order, the branch of F from a root of A_r.

    Args:
        mix: decode lengths, shares and input ratios.
        root: alpha, a simple root of A_r: exact, or of `fluidkv.exact.limit_roots`. A symbol stands
            for any simple root; the coefficients are then rational functions of it. Of a
            `LimitRoot` off the circle sympy isolates all its fellows: seconds from d = 10 on.
        order: of the last term, at least 1.
        shares: as in `characteristic_polynomial`.

    Raises:
        InputError: a number that is not a root of A_r, or a multiple one; an order below 1.

    Source: Congestion, Theorem 24 and (31): z1 = alpha and z2 = c_2(alpha) for a common input.

    Examples:
        >>> from sympy import Symbol
        >>> from fluidkv.symbolic import drift_series
        >>> drift_series(fk.LengthMix((2, 4), [Fraction(1, 2)]), -1)
        -1 - 1/(l0 + 4) - 7/(3*(l0 + 4)**2)
        >>> drift_series(fk.LengthMix((2, 3), [Fraction(1, 2)]), Symbol("a"), order=1)
        a + a/(l0 + 3)
    """
    if order < 1:
        raise InputError("order", order, "an integer of at least 1")
    made = coefficients(mix, shares=shares, ratios=False)
    limit = polynomial(made.slope)
    correction = polynomial(made.growth) - mix.ages * limit
    alpha, least = _root(mix, root)
    over = Poly(limit.subs(Z, _ALPHA), _ALPHA).to_field()
    normal = sympy.cancel if least is None else _modulo(over, least, alpha)
    terms = _series(limit, correction, order, normal)
    eps = 1 / (INPUT_LENGTH + mix.ages)
    return sympy.Add(*(z.subs(_ALPHA, alpha) * eps**k for k, z in enumerate(terms)))


def _series(
    limit: Expr, correction: Expr, order: int, normal: Callable[[Expr], Expr]
) -> list[Expr]:
    """alpha, z1 ... z_order, as functions of alpha, each in its normal form."""
    p, q = (_taylor(f, order) for f in (limit, correction))
    z: list[Expr] = [sympy.Integer(0)] * (order + 1)  # of z - alpha
    for k in range(1, order + 1):
        powers = _powers(z, order)  # z_k is still 0 in them
        known = [p[j] * powers[j][k] for j in range(2, k + 1)]
        known += [q[j] * powers[j][k - 1] for j in range(k)]
        z[k] = normal(-sympy.Add(*known) / p[1])
    return [_ALPHA, *z[1:]]


def _taylor(polynomial: Expr, order: int) -> list[Expr]:
    """Coefficients of (z - alpha)^0 ... (z - alpha)^order."""
    return [polynomial.diff(Z, j).subs(Z, _ALPHA) / sympy.factorial(j) for j in range(order + 1)]


def _powers(series: Sequence[Expr], order: int) -> list[list[Expr]]:
    """Coefficients in eps of the series to the powers 0 ... order, cut off beyond eps^order."""
    powers: list[list[Expr]] = [[sympy.Integer(1), *[sympy.Integer(0)] * order]]
    for _ in range(order):
        before = powers[-1]
        powers.append(
            [sympy.Add(*(before[i] * series[k - i] for i in range(k))) for k in range(order + 1)]
        )
    return powers


def _modulo(limit: Poly, least: Poly, alpha: Expr) -> Callable[[Expr], Expr]:
    """What brings a rational function of alpha to its one form, a polynomial of least degree.

    Args:
        least: the minimal polynomial of alpha.

    Raises:
        InputError: alpha is not a simple root of the limit.
    """
    least = least.set_domain(limit.domain)
    slope: Any = limit.diff(_ALPHA)
    if not limit.rem(least).is_zero:
        raise InputError("root", alpha, "a root of the limit A_r")
    if slope.rem(least).is_zero:
        raise InputError("root", alpha, "a simple root of the limit A_r, not a multiple one")

    def reduced(value: Expr) -> Expr:
        above, below = (
            Poly(part, _ALPHA).set_domain(limit.domain)
            for part in sympy.fraction(sympy.together(value))
        )
        return (above * below.rem(least).invert(least)).rem(least).as_expr()

    return reduced


def _root(mix: LengthMix, root: LimitRoot | Expr | int) -> tuple[Expr, Poly | None]:
    """The root exactly, and its minimal polynomial; None for a symbol."""
    if not isinstance(root, LimitRoot):
        alpha = sympy.sympify(root)
        return alpha, None if alpha.free_symbols else _least(alpha)
    if root.unity:
        j, g = root.unity
        alpha = sympy.exp(2 * sympy.pi * sympy.I * sympy.Rational(j, g))
        return alpha, Poly(sympy.cyclotomic_poly(g // gcd(j, g), _ALPHA), _ALPHA)
    limit = Poly(polynomial(coefficients(mix, shares=False, ratios=False).slope), Z)
    others: Any = limit.sqf_part().all_roots(radicals=False)
    alpha = min(others, key=lambda each: abs(complex(each) - complex(root.ball)))
    return alpha, _least(alpha)


def _least(alpha: Expr) -> Poly:
    """The minimal polynomial over the rationals.

    Raises:
        InputError: a number that has none.
    """
    try:
        return Poly(sympy.minimal_polynomial(alpha, _ALPHA), _ALPHA)
    except NotAlgebraic:
        raise InputError("root", alpha, "a root of the limit A_r, an algebraic number") from None
