"""One root alone in a disc, by Rouche's theorem on Taylor coefficients.

A polynomial with coefficients c_j in powers of z - m has exactly one root, with multiplicity, in
the disc of radius r about m if on its rim the linear term outweighs all others:

    |c_0| + |c_2| r^2 + |c_3| r^3 + ... < |c_1| r.

Coefficients may be balls. Then the statement holds for every polynomial that the balls hold, and
since its one root is simple, it moves continuously with the coefficients. Unlike boxes that are
turned by each step of Horner's scheme, the sums here do not grow with the degree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from flint import acb, acb_poly, arb, fmpz_poly
from flint import ctx as flint_context


@dataclass(frozen=True)
class Disc:
    """All z with |z - centre| <= radius; `centre` is exact."""

    centre: acb
    radius: arb

    def inside(self, other: "Disc") -> bool:
        """Whether it is proved to lie in the interior of another disc."""
        return bool(modulus(self.centre - other.centre) + self.radius < other.radius)

    @property
    def ball(self) -> acb:
        """The box around it; a disc about a real centre holds a real root, and stays on the axis.

        A real polynomial with one root in a disc about a real centre has a real root there.
        """
        width = arb(0, float(self.radius.upper()) * (1 + 1e-12))
        if self.centre.imag == 0:
            return acb(self.centre.real + width)
        return acb(self.centre.real + width, self.centre.imag + width)


def modulus(value: acb) -> arb:
    """|value|, which python-flint calls abs."""
    return cast("arb", abs(value))


def taylor(polynomial: fmpz_poly, centre: acb) -> list[acb]:
    """Coefficients of the polynomial in powers of z - centre, at least three of them."""
    shifted = acb_poly(polynomial)(acb_poly([centre, 1])).coeffs()
    return [*shifted, *[acb(0)] * (3 - len(shifted))]


def alone(coefficients: Sequence[acb], radius: arb) -> bool:
    """Whether exactly one root is proved to lie within `radius` of the centre of expansion."""
    total = arb(0)
    for c in reversed(coefficients[2:]):
        total = total * radius + modulus(c)
    return bool(modulus(coefficients[0]) + total * radius**2 < modulus(coefficients[1]) * radius)


def combined(p: Sequence[acb], q: Sequence[acb], eps: arb) -> list[acb]:
    """Coefficients of P + eps Q."""
    length = max(len(p), len(q))
    p, q = [*p, *[acb(0)] * (length - len(p))], [*q, *[acb(0)] * (length - len(q))]
    return [a + eps * b for a, b in zip(p, q, strict=True)]


def newton_disc(
    p: fmpz_poly, q: fmpz_poly, eps: arb, guess: acb, *, steps: int = 60
) -> Disc | None:
    """A small disc around a root of P + eps Q near `guess`, proved to hold it alone; or None.

    Newton's method in floats of the current precision, which proves nothing, and then `alone`.
    """
    f = acb_poly([a + eps * b for a, b in _pairs(p, q)])
    slope = f.derivative()
    point = guess.mid()
    for _ in range(steps):
        derivative = slope(point).mid()
        if derivative == 0:
            return None
        step = (f(point).mid() / derivative).mid()
        point = (point - step).mid()
        size = float(modulus(step).mid())
        if not size < 1.0:  # left any neighbourhood of the guess, or not a number
            return None
        if size < 2.0 ** (24 - flint_context.prec / 2):
            break
    coefficients = combined(taylor(p, point), taylor(q, point), eps)
    if not modulus(coefficients[1]) > 0:
        return None
    # The root is at distance |c_0 / c_1| to first order. A Taylor shift to a point of modulus near
    # 1 loses about one bit a degree; what is added keeps the inequality strict where c_0 = 0.
    spare = arb(2) ** (32 + len(coefficients) - flint_context.prec)
    radius = (4 * modulus(coefficients[0]) / modulus(coefficients[1]) + spare).upper()
    return Disc(point, radius) if alone(coefficients, radius) else None


def _pairs(p: fmpz_poly, q: fmpz_poly) -> list[tuple[acb, acb]]:
    top = max(p.degree(), q.degree())
    return [(acb(p[j]), acb(q[j])) for j in range(top + 1)]
