"""The condition for a mode on the unit circle, at any input length: h(theta) = 0.

F is linear in the input length, F_L(z) = L A_r(z) + C(z), with real coefficients. So e^{i theta} is
a root of F_L for one real L at most, L = -C / A_r, and for none unless that is real:

    h(theta) = Im(C conj A_r) = 0        at z = e^{i theta}.

The condition does not contain L.

A_r has decreasing positive coefficients, so its roots lie in |z| <= 1 (Enestrom and Kakeya). Those
on the circle are the g-th roots of unity but 1, g the common divisor of the decode lengths, and
they are simple: (1 - z) A_r is -R z^d + sum of p_k r_k z^{d-l1_k}, where all terms must point the
same way, and its derivative is not 0 there. At such a root zeta,

    (1 - zeta) C = (sum of p_k l1_k) zeta^d,     (1 - zeta) A_r' = -(sum of p_k r_k l1_k) zeta^{d-1}

so C is not 0, -C / A_r passes through infinity with its real part bounded, and h with the zero of
A_r divided out is not 0: crossings at infinity are not among the zeros of h. What A_r and C have in
common has its roots inside the circle, at every L, and is divided out.

Source: derived here from Congestion, equations (10), (11) and (30).
"""

from functools import cached_property

from flint import acb, arb, arb_poly, fmpz, fmpz_poly

from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.precision import working
from fluidkv.exact.roots.polynomial import reciprocal


class CrossingCondition:
    """h and what it is made of, over one common denominator.

    A_r = common x rest, with `common` all roots of A_r on the circle. Of degree s, `common` equals
    its reciprocal: on the circle it is e^{i theta s / 2} times a real function.

    Fields:
        slope: A_r, without what it has in common with C.
        offset: C, the sum of alpha_s (1 + s) z^{d-1-s}, likewise.
        common, rest: factors of `slope`.
    """

    def __init__(self, mix: LengthMix) -> None:
        alive = mix.limit.requests
        slope = fmpz_poly(list(mix.limit.memory[::-1]))
        offset = fmpz_poly([a * (1 + s) for s, a in enumerate(alive)][::-1])
        shared = slope.gcd(offset)
        self.slope, self.offset = slope // shared, offset // shared
        self.common = self.slope.gcd(reciprocal(self.slope))
        self.rest = self.slope // self.common
        factors = (self.slope, self.offset, self.common, self.rest)
        # exact, whatever the precision of the caller: else more bits later would not help
        longest = max(int(c).bit_length() for p in factors for c in p.coeffs())
        with working(max(2, longest)):
            self._balls = tuple(arb_poly(p) for p in factors)

    @property
    def never(self) -> bool:
        """Whether F_L is (L + k) A_r for some k > 0, so that no root moves.

        This is the only way in which h can be 0 everywhere: -C / A_r, real on the whole circle,
        would have each of its poles inside mirrored by one outside. So `rest` would be constant;
        then A_r is a polynomial in z^g times 1 + ... + z^{g-1}, and C has it as a factor for g = 1
        alone.
        """
        return self.slope.degree() == 0

    @property
    def zero_at_minus_one(self) -> bool:
        """Whether h vanishes at theta = pi; it is odd about it then, and else even.

        h(2 pi - theta) = -(-1)^s h(theta). It vanishes unless -1 is one of the roots of A_r.
        """
        return self.common.degree() % 2 == 0

    @cached_property
    def palindrome(self) -> fmpz_poly:
        """z^k T(z + 1/z), T of degree d - 2 at most, whose roots in (-2, 2) are those of h.

        2i h times a power of z is C rest* - C* rest, * for the reciprocal. That changes sign when
        read backwards; what is left when z, z - 1 and z + 1 are divided out as often as they go
        does not.
        """
        product = self.offset * reciprocal(self.rest)
        degree = self.offset.degree() + self.rest.degree()
        coefficients = product.coeffs() + [fmpz(0)] * (degree - product.degree())
        palindrome = product - fmpz_poly(coefficients[::-1])
        for factor in (fmpz_poly([0, 1]), fmpz_poly([-1, 1]), fmpz_poly([1, 1])):
            while palindrome.degree() > 0 and (palindrome % factor).is_zero():
                palindrome //= factor
        return palindrome

    def h(self, turn: float | arb) -> arb:
        """h(pi turn), divided by the real function that `common` is."""
        _, offset, _, rest = self._balls
        z, half = _point(turn, self.common.degree())
        return (offset(z) * (rest(z) * half).conjugate()).imag

    def sign_of_common(self, turn: float | arb) -> int | None:
        """Of the real function that `common` is on the circle, but for e^{i theta s / 2}."""
        z, half = _point(turn, self.common.degree())
        return sign_of((self._balls[2](z) / half).real)

    def length(self, turn: arb) -> arb:
        """-C / A_r at e^{i pi turn}: real at a crossing, so the real part of the ball holds it."""
        z, _ = _point(turn, 0)
        slope, offset, _, _ = self._balls
        return (-offset(z) / slope(z)).real


def sign_of(value: arb) -> int | None:
    """1 or -1; None if the ball holds 0."""
    return 1 if value > 0 else -1 if value < 0 else None


def _point(turn: float | arb, degree: int) -> tuple[acb, acb]:
    """e^{i pi turn} and e^{i pi turn degree / 2}."""
    return acb(turn).exp_pi_i(), (acb(turn) * degree / 2).exp_pi_i()
