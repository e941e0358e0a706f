"""The characteristic polynomial F of the eviction-free equilibrium; exact facts about its roots.

Polynomials are python-flint `fmpz_poly`, coefficients in ascending order of the power of z.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

from flint import acb, fmpz, fmpz_mat, fmpz_poly

from fluidkv.exact.precision import working
from fluidkv.exact.survival import SurvivalWeights


def characteristic_polynomial(weights: SurvivalWeights) -> fmpz_poly:
    """F(z) = sum of V_s z^{d-1-s}, times the common denominator of V: degree d-1.

    Source: Congestion, equation (10).

    Examples:
        >>> from fluidkv.exact import characteristic_polynomial
        >>> weights = fk.survival_weights(fk.Workload.from_lengths([(2, 3)]))
        >>> characteristic_polynomial(weights)
        3*x^2 + 4*x + 5
    """
    return fmpz_poly(list(reversed(weights.memory)))


def reciprocal(polynomial: fmpz_poly) -> fmpz_poly:
    """z^n P(1/z): the coefficients in reverse."""
    return fmpz_poly(polynomial.coeffs()[::-1])


def split_reciprocal(polynomial: fmpz_poly) -> tuple[fmpz_poly, fmpz_poly]:
    """P = D R with D = gcd(P, reciprocal of P): exact.

    P is real, so a root z on the unit circle comes with its conjugate 1/z. D therefore holds every
    root on the circle, with its multiplicity, besides pairs {z, 1/z} off it; R has no root on the
    circle and no such pair.

    Examples:
        >>> from flint import fmpz_poly
        >>> from fluidkv.exact.roots.polynomial import split_reciprocal
        >>> z = fmpz_poly([0, 1])
        >>> split_reciprocal((z + 1) * (z - 3))
        (x + 1, x + (-3))
    """
    common = polynomial.gcd(reciprocal(polynomial))
    return common, polynomial // common


def count_on_circle(reciprocal_part: fmpz_poly) -> int:
    """Roots on the unit circle of a polynomial D that equals its reciprocal up to sign.

    With (z + 1) and (z - 1) divided out, D(z) = z^m T(z + 1/z); the roots of D on the circle, in
    pairs, are the real roots of T in (-2, 2).

    Examples:
        >>> from flint import fmpz_poly
        >>> from fluidkv.exact.roots.polynomial import count_on_circle
        >>> z = fmpz_poly([0, 1])
        >>> count_on_circle((z**2 + z + 1) * (z - 2) * (2 * z - 1))
        2
    """
    on_circle = 0
    rest = reciprocal_part
    for unit in (fmpz_poly([1, 1]), fmpz_poly([-1, 1])):
        while rest.degree() > 0 and (rest % unit).is_zero():
            rest //= unit
            on_circle += 1
    if rest.degree() == 0:
        return on_circle
    return on_circle + 2 * _count_real_between_two(in_sum_variable(rest))


def _count_real_between_two(polynomial: fmpz_poly) -> int:
    """Real roots in (-2, 2), with multiplicity, of a polynomial that is not 0 at -2 or 2.

    The roots are isolated in balls, real ones as exactly real, in more and more bits until no ball
    touches -2 or 2: a root may be as near to them as the coefficients are long.
    """
    bits = 128
    while True:
        with working(bits):
            real = [(x.real, m) for x, m in enclosed_roots(polynomial) if x.imag == 0]
        if not any(x.contains(-2) or x.contains(2) for x, _ in real):
            return sum(m for x, m in real if -2 < x < 2)
        bits *= 2


def enclosed_roots(polynomial: fmpz_poly) -> list[tuple[acb, int]]:
    """Each root in a ball, real ones exactly real, with its multiplicity; current precision.

    Examples:
        >>> from flint import fmpz_poly
        >>> from fluidkv.exact.roots.polynomial import enclosed_roots
        >>> z = fmpz_poly([0, 1])
        >>> [(float(ball.real), times) for ball, times in enclosed_roots((z - 3) ** 2)]
        [(3.0, 2)]
    """
    return cast("list[tuple[acb, int]]", polynomial.complex_roots())


def count_outside_and_on(polynomial: fmpz_poly) -> tuple[int, int]:
    """Roots (outside the unit circle, exactly on it), with multiplicity, in integers.

    Examples:
        >>> from flint import fmpz_poly
        >>> from fluidkv.exact.roots.polynomial import count_outside_and_on
        >>> z = fmpz_poly([0, 1])
        >>> count_outside_and_on((z + 1) * (z - 3) * (3 * z - 1))
        (1, 1)
    """
    common, rest = split_reciprocal(polynomial)
    on_circle = count_on_circle(common)
    pairs = (common.degree() - on_circle) // 2  # {z, 1/z}: one of the two lies outside
    return rest.degree() - count_inside(rest) + pairs, on_circle


def count_inside(polynomial: fmpz_poly) -> int:
    """Roots inside the unit circle, with multiplicity, by exact integer arithmetic.

    Args:
        polynomial: coprime to its reciprocal (`split_reciprocal` gives such a factor).

    Raises:
        ArithmeticError: it is not.

    Examples:
        >>> from flint import fmpz_poly
        >>> from fluidkv.exact.roots.polynomial import count_inside
        >>> z = fmpz_poly([0, 1])
        >>> count_inside((3 * z - 1) * (4 * z + 1) * (z - 2))
        2
    """
    inside = count_inside_by_recursion(polynomial)
    return count_inside_by_form(polynomial) if inside is None else inside


def count_inside_by_recursion(polynomial: fmpz_poly) -> int | None:
    """Roots inside the unit circle by n steps P -> P(0) P - lc(P) P*, in about n^3 operations.

    P* is the reciprocal, lc the coefficient at the formal degree, which each step lowers by one.
    With d_k the value at 0 after k steps, as many of the products d_1 ... d_k, k = 1 ... n, are
    negative as there are roots inside. Common factors of the coefficients, always positive, are
    divided out, which keeps them short.

    Returns:
        The count; None if some d_k is 0, which says nothing.

    Source: M. Marden, Geometry of Polynomials, theorem 42.1 (Schur, Cohn).

    Examples:
        >>> from flint import fmpz_poly
        >>> from fluidkv.exact.roots.polynomial import count_inside_by_recursion
        >>> z = fmpz_poly([0, 1])
        >>> count_inside_by_recursion((4 * z - 1) * (z - 3))
        1
        >>> count_inside_by_recursion((2 * z - 1) * (z - 2)) is None
        True
    """
    inside, sign = 0, 1
    now = polynomial
    for degree in range(polynomial.degree(), 0, -1):
        ascending = now.coeffs()
        ascending += [fmpz(0)] * (degree + 1 - len(ascending))
        now = ascending[0] * now - ascending[degree] * fmpz_poly(ascending[::-1])
        at_zero = now[0]
        if at_zero == 0:
            return None
        if at_zero < 0:
            sign = -sign
        inside += sign < 0
        now //= now.content()
    return inside


def count_inside_by_form(polynomial: fmpz_poly) -> int:
    """Roots inside the unit circle by the Schur-Cohn form, in about n^4 operations; never open.

    The Schur-Cohn matrix A^T A - B^T B, A and B upper triangular Toeplitz from the coefficients
    read from the top and from the bottom, has as many positive eigenvalues as P has roots inside,
    and as many negative ones as it has outside, when P shares no root with its reciprocal. The
    eigenvalues are real, so the sign changes of the characteristic polynomial count the positive
    ones exactly (Descartes).

    Raises:
        ArithmeticError: the matrix is singular, so the argument is not coprime to its reciprocal.

    Examples:
        >>> from flint import fmpz_poly
        >>> from fluidkv.exact.roots.polynomial import count_inside_by_form
        >>> z = fmpz_poly([0, 1])
        >>> count_inside_by_form((4 * z - 1) * (z - 3))
        1
    """
    n = polynomial.degree()
    if n == 0:
        return 0
    ascending = polynomial.coeffs()
    upper = _upper_toeplitz(ascending[::-1])
    lower = _upper_toeplitz(ascending)
    form = upper.transpose() * upper - lower.transpose() * lower
    coefficients = form.charpoly().coeffs()
    if coefficients[0] == 0:
        raise ArithmeticError("the polynomial shares a root with its reciprocal")
    signs = [c > 0 for c in coefficients if c != 0]
    return sum(a != b for a, b in pairwise(signs))


def in_sum_variable(palindrome: fmpz_poly) -> fmpz_poly:
    """T with D(z) = z^m T(z + 1/z), for D of degree 2m equal to its reciprocal.

    z^j + z^-j is S_j(z + 1/z) with S_0 = 2, S_1(x) = x and S_{j+1} = x S_j - S_{j-1}.
    """
    coefficients = palindrome.coeffs()
    m = palindrome.degree() // 2
    x = fmpz_poly([0, 1])
    before, now = fmpz_poly([2]), x
    total = fmpz_poly([coefficients[m]])
    for j in range(1, m + 1):
        total += coefficients[m + j] * now
        before, now = now, x * now - before
    return total


def _upper_toeplitz(row: Sequence[fmpz]) -> fmpz_mat:
    n = len(row) - 1
    return fmpz_mat(n, n, [row[j - i] if j >= i else 0 for i in range(n) for j in range(n)])
