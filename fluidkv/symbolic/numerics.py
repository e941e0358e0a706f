"""From expressions to numbers: functions of JAX, and roots to as many digits as asked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import sympy
from mpmath.libmp import NoConvergence
from sympy import Expr, Poly, Symbol

from fluidkv.errors import InputError
from fluidkv.record import Record

_WORD = 2**31  # an integer of JAX is shorter, where float64 is not switched on


@dataclass(frozen=True)
class Roots(Record):
    """The roots of a polynomial as decimal numbers.

    Fields:
        values: each root once, largest modulus first, as sympy numbers of that many digits.
        multiplicities: of each of them.
        errors: within each of which there is a root, were polynomials evaluated without rounding.

    Examples:
        >>> from fluidkv.symbolic import Z, roots
        >>> found = roots((Z - 3) ** 2 * (2 * Z + 1), digits=5)
        >>> found.values, found.multiplicities
        ((3.0000, -0.50000), (2, 1))
    """

    values: tuple[Expr, ...]
    multiplicities: tuple[int, ...]
    errors: tuple[float, ...]


def roots(polynomial: Expr | Poly, digits: int = 50) -> Roots:
    """All roots of a polynomial in one symbol, by the simultaneous iteration of mpmath.

    Multiple roots are split off exactly first. No certificate: the second method beside the balls
    of `fluidkv.exact`. A polynomial f of degree n has a root within n |f / f'| of any point, and
    this is `errors`; f is evaluated in twice the digits.

    Args:
        polynomial: rational coefficients, one symbol.
        digits: decimal digits of the answer, at least 1.

    Raises:
        InputError: no polynomial, several symbols, coefficients that are not rational, or no
            digits.
        ArithmeticError: the iteration does not converge.

    Source: mpmath.polyroots (Durand and Kerner).

    Examples:
        >>> from fluidkv.symbolic import characteristic_polynomial, roots
        >>> f = characteristic_polynomial(fk.Workload.from_lengths([(50, 2), (50, 4)]))
        >>> roots(f, digits=20).values[0]
        -1.0193...
    """
    if digits < 1:
        raise InputError("digits", digits, "an integer of at least 1")
    rows = [
        (*root, times)
        for factor, times in _rational_polynomial(polynomial).sqf_list()[1]
        for root in _simple_roots(factor, digits)
    ]
    rows.sort(key=lambda row: (-abs(row[0]), mpmath.arg(row[0])))
    values = tuple(_shown(value, digits) for value, _, _ in rows)
    return Roots(values, tuple(times for *_, times in rows), tuple(float(row[1]) for row in rows))


def to_jax(expression: Any, symbols: Symbol | Sequence[Symbol]) -> Callable[..., Any]:
    """A function of JAX arrays, under `jit`, `vmap` and `grad` as any other; by `sympy.lambdify`.

    Numbers that JAX's integers cannot hold become floats, and roots that sympy knows by their
    number, decimals. Arguments are floats (complex ones where I is in the expression), and so
    precise as JAX is set: a polynomial in a long input loses digits in float32.

    Args:
        expression: an expression, a relation, a matrix, or a sequence of them.
        symbols: in the order of the arguments; all that the expression has.

    Raises:
        InputError: a symbol of the expression that is not among them.

    Examples:
        >>> import jax
        >>> from fluidkv.symbolic import INPUT_LENGTH, DECODE_LENGTH, to_jax, worst_cycle
        >>> share = to_jax(worst_cycle().share_of_best, (INPUT_LENGTH, DECODE_LENGTH))
        >>> print(f"{share(500.0, 200.0):.4f} {jax.jit(jax.grad(share))(500.0, 200.0):.2e}")
        0.8579 2.03e-04
    """
    arguments = (symbols,) if isinstance(symbols, Symbol) else tuple(symbols)
    whole = sympy.sympify(expression)
    missing = sorted(map(str, whole.free_symbols - set(arguments)))
    if missing:
        raise InputError("symbols", arguments, f"also {', '.join(missing)} of the expression")
    numbers = {n: n.evalf(17) for n in whole.atoms(sympy.ComplexRootOf)}
    numbers |= {n: sympy.Float(n, 17) for n in whole.atoms(sympy.Rational) if _is_long(n)}
    return sympy.lambdify(arguments, whole.xreplace(numbers), modules="jax", cse=True)


def _is_long(number: sympy.Rational) -> bool:
    return max(abs(number.p), number.q) >= _WORD


def _rational_polynomial(polynomial: Expr | Poly) -> Poly:
    """In its one symbol, over the rationals."""
    allowed = "a polynomial in one symbol with rational coefficients"
    try:
        made = Poly(polynomial) if len(polynomial.free_symbols) == 1 else None
    except sympy.PolynomialError:
        made = None
    if made is None or len(made.gens) != 1 or not made.gens[0].is_Symbol:
        raise InputError("polynomial", polynomial, allowed)
    if not (made.domain.is_ZZ or made.domain.is_QQ):
        raise InputError("polynomial", polynomial, allowed)
    return made.set_domain("QQ")


def _simple_roots(polynomial: Poly, digits: int) -> list[tuple[Any, Any]]:
    """Roots of a polynomial without multiple ones, each with n |f / f'|."""
    degree = polynomial.degree()
    with mpmath.workdps(2 * digits):
        coefficients = [mpmath.mpf(int(c.p)) / int(c.q) for c in polynomial.all_coeffs()]
        try:
            values = mpmath.polyroots(coefficients, maxsteps=200, extraprec=4 * degree + 64)
        except NoConvergence as stop:
            raise ArithmeticError(f"no convergence for a factor of degree {degree}") from stop
        rows = []
        for value in values:
            f, slope = mpmath.polyval(coefficients, value, derivative=True)
            rows.append((value, degree * abs(f / slope)))
        return rows


def _shown(value: Any, digits: int) -> Expr:
    """A number of mpmath as one of sympy."""
    real, imag = (
        sympy.Float(str(mpmath.nstr(part, digits + 2)), digits)
        for part in (mpmath.re(value), mpmath.im(value))
    )
    return real if imag == 0 else real + sympy.I * imag
