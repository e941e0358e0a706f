"""Roots of the limit A_r: exactly on the unit circle, in balls inside it.

Source: Congestion, B.3, B.8.3 and B.9.
"""

from dataclasses import dataclass

from flint import acb, arb, fmpz_poly

from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.mixed.motion.discs import modulus, newton_disc
from fluidkv.exact.precision import shown_alike, working
from fluidkv.exact.roots.polynomial import enclosed_roots
from fluidkv.record import Record

BITS = 128
"""Of every enclosure that is returned."""


@shown_alike
@dataclass(frozen=True)
class LimitRoot(Record):
    """A root of the limit A_r; one off the real axis stands for its mirror image too.

    Fields:
        ball: holds this root of A_r and no other; its imaginary part is at least 0, and exactly 0
            for a real root.
        multiplicity: as a root of A_r.
        unity: (j, g) where the root is exactly exp(2 pi i j / g) with g the gcd of the decode
            lengths; None elsewhere, and then it lies strictly inside the unit circle.

    Examples:
        >>> from fluidkv.exact import limit_roots
        >>> first, second = limit_roots(fk.LengthMix((2, 4), [Fraction(1, 2)]))
        >>> first.unity, first.count, second.unity, round(float(second.modulus.mid()), 4)
        ((1, 2), 1, None, 0.7071)
    """

    ball: acb
    multiplicity: int
    unity: tuple[int, int] | None

    @property
    def count(self) -> int:
        """Roots that it stands for, with multiplicity."""
        return self.multiplicity * (1 if self.ball.imag == 0 else 2)

    @property
    def modulus(self) -> arb:
        with working(BITS):
            return arb(1) if self.unity else modulus(self.ball)


def limit_roots(mix: LengthMix) -> tuple[LimitRoot, ...]:
    """All roots of A_r, largest modulus first: roots of unity exactly, the others in balls.

    The first are split off by an exact gcd with z^g - 1, so that no ball has to decide whether a
    modulus is 1.

    Raises:
        ArithmeticError: a root of unity that is a multiple root, or a root left on the unit circle;
            both would contradict Congestion, B.8.3.

    Examples:
        >>> from fluidkv.exact import limit_roots
        >>> roots = limit_roots(fk.LengthMix((2, 4), [Fraction(1, 2)]))
        >>> [(root.unity, root.count, round(float(root.modulus.mid()), 3)) for root in roots]
        [((1, 2), 1, 1.0), (None, 2, 0.707)]
    """
    limit, _ = perturbed(mix)
    g = mix.decode_gcd
    unity = limit.gcd(_unity(g))
    rest = limit // unity
    if unity.degree() != g - 1 or rest.gcd(_unity(g)).degree() > 0:
        raise ArithmeticError(f"roots of unity of {mix} are not the simple non-trivial ones")
    with working(BITS):
        found = [LimitRoot(_root_of_unity(j, g), 1, (j, g)) for j in range(1, g // 2 + 1)]
        inside = [
            LimitRoot(ball, multiplicity, None)
            for ball, multiplicity in enclosed_roots(rest)
            if ball.imag >= 0
        ]
        if not all(modulus(root.ball) < 1 for root in inside):
            raise ArithmeticError(f"a root of the limit of {mix} is not inside the unit circle")
        inside.sort(key=lambda r: (-float(modulus(r.ball).mid()), float(r.ball.arg().mid())))
    return (*found, *inside)


def perturbed(mix: LengthMix) -> tuple[fmpz_poly, fmpz_poly]:
    """A_r and C - d A_r, times the common denominator of shares and ratios.

    With eps = 1 / (L + d) and C(z) the sum of alpha_s (1 + s) z^{d-1-s}, eps F is A_r + eps (C -
    d A_r) times that number; for a common input the correction is -z A', by (30).
    """
    d = mix.ages
    limit = fmpz_poly(list(reversed(mix.limit.memory)))
    growth = [(1 + s) * a for s, a in enumerate(mix.limit.requests)]
    return limit, fmpz_poly(growth[::-1]) - d * limit


def sharp(mix: LengthMix, root: LimitRoot) -> acb:
    """A simple root of the limit in the current precision."""
    if root.unity:
        return _root_of_unity(*root.unity)
    disc = newton_disc(*perturbed(mix), arb(0), root.ball)
    if disc is None or not disc.ball.overlaps(root.ball):
        raise ArithmeticError(f"no disc about {root.ball}, a simple root of the limit")
    return disc.ball


def _root_of_unity(j: int, g: int) -> acb:
    return acb(-1) if 2 * j == g else acb(arb(2 * j) / g).exp_pi_i()


def _unity(g: int) -> fmpz_poly:
    return fmpz_poly([-1, *[0] * (g - 1), 1])
