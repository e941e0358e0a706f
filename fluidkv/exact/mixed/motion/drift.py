"""How the roots of F leave those of its limit A as the input length comes down from infinity.

F is linear in the input length L, so with eps = 1 / (L + d)

    eps F = P + eps Q,    P = A_r,    Q = C - d A_r,    C(z) = sum of alpha_s (1 + s) z^{d-1-s}.

A simple root alpha of P continues to z = alpha + z1 eps + z2 eps^2 + O(eps^3), where

    z1 = -Q / P',    z2 = -(P'' z1^2 / 2 + Q' z1) / P',    all at alpha.

With a common input, Q = -z A' by (30), so z1 = alpha and z2 is c_2(alpha) of (31).

With other inputs, let A be the limit for equal ones. C = d A - z A' still, and a non-trivial g-th
root of unity w is a root of A and of A_r both, with (1 - w) A_r'(w) = -sum(p r l1) / w. Hence

    z1 = -C(w) / A_r'(w) = w A'(w) / A_r'(w) = w sum(p l1) / sum(p r l1):

straight outward, at a rate that depends on shares and ratios and never changes its sign.

Sources: Congestion, Theorem 24 and Appendices B.4, B.7.2 and B.9.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from flint import acb, arb, fmpz_poly

from fluidkv.errors import InputError
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.mixed.motion.discs import modulus, taylor
from fluidkv.exact.mixed.motion.limit import BITS, LimitRoot, limit_roots, perturbed, sharp
from fluidkv.exact.precision import DOUBLE, outward, shown_alike, to_ball, working
from fluidkv.record import Record


class BranchStatus(StrEnum):
    """Why a branch of roots is known, or where knowledge of it ends.

    simple     a simple root of the limit: the expansion holds
    tracked    continued without a gap to every input length that was asked for
    multiple   a multiple root of the limit: several branches start there, none has an expansion
    collision  a double root of F exists inside the bracket where continuation ends
    close      continuation ends where another root comes too close; whether they meet is open
    """

    SIMPLE = "simple"
    TRACKED = "tracked"
    MULTIPLE = "multiple"
    COLLISION = "collision"
    CLOSE = "close"


@shown_alike
@dataclass(frozen=True)
class Drift(Record):
    """The branch that starts at a root of the limit, to second order in eps = 1 / (L + d).

    Fields:
        root: alpha.
        status: simple, or multiple; then there is no expansion and the two others are None.
        first: z1; equal to alpha for a common input.
        second: z2; c_2(alpha) of (31) for a common input.
    """

    root: LimitRoot
    status: BranchStatus
    first: acb | None
    second: acb | None

    @property
    def modulus_rates(self) -> tuple[arb, arb] | None:
        """(u, v) with |z| = |alpha| (1 + u eps + v eps^2 + O(eps^3)).

        For a common input u = 1, and v is the real part of d_alpha = c_2(alpha) / alpha.
        """
        if self.first is None or self.second is None:
            return None
        with working(BITS):
            u, v = self.first / self.root.ball, self.second / self.root.ball
            return u.real, v.real + u.imag * u.imag / 2


class BoundStatus(StrEnum):
    """Whether there is a bound of the remainder; the values are words for a report."""

    FOUND = "found"
    MULTIPLE = "a multiple root of the limit, which has no expansion"
    TOO_SHORT = "the input length is too short for a bound"
    UNDECIDED = "the search for a bound was given up"
    NO_MODES = "coprime decode lengths, which have no mode on the unit circle"


@dataclass(frozen=True)
class DriftBound(Record):
    """|z(eps) - expansion| <= constant * eps^(order + 1), for every real input length from `above`.

    Fields:
        status: found, or why there is no constant.
        order: of the expansion, 1 or 2.
        above: the shortest input length L.
        constant: K, rounded up; None unless found.
    """

    status: BoundStatus
    order: int
    above: Fraction
    constant: float | None = None


@dataclass(frozen=True)
class OutwardRate(Record):
    """low <= (|z| - 1) (L + d) <= high for all unit-circle modes and every real L >= above.

    The difference holds as a statement about each branch that starts at a non-trivial g-th root of
    unity; `limit` is the common value as L grows without bound, sum(p l1) / sum(p r l1). All three
    are None unless `status` is found.
    """

    status: BoundStatus
    above: Fraction
    low: float | None = None
    high: float | None = None
    limit: Fraction | None = None


def drift(mix: LengthMix, root: LimitRoot) -> Drift:
    """First and second order of the branch that starts at a root of the limit.

    A multiple root is refused by its status.

    Examples:
        >>> from fluidkv.exact import limit_roots
        >>> from fluidkv.exact.mixed.motion.drift import drift
        >>> mix = fk.LengthMix((2, 4), [Fraction(1, 2)])
        >>> first, second = drift(mix, limit_roots(mix)[0]).modulus_rates
        >>> float(first.mid()), float(second.mid())
        (1.0, 2.3333333333333335)
    """
    if root.multiplicity > 1:
        return Drift(root, BranchStatus.MULTIPLE, None, None)
    limit, correction = perturbed(mix)
    with working(_working_bits(limit)):
        alpha = sharp(mix, root)
        p, q = taylor(limit, alpha), taylor(correction, alpha)
        first = -q[0] / p[1]
        second = -(p[2] * first**2 + q[1] * first) / p[1]
    return Drift(root, BranchStatus.SIMPLE, first, second)


@working(DOUBLE)
def drift_bound(
    mix: LengthMix, root: LimitRoot, above: Fraction | int, *, order: int = 2
) -> DriftBound:
    """A constant for the remainder of the expansion, valid for all L >= `above`.

    By Rouche's theorem: on the circle of radius K eps^(order+1) about the expansion, the linear
    part P'(alpha) u outweighs all the rest of P + eps Q, whose bound over eps^(order+1) grows with
    eps. So the circle holds exactly one root for every smaller eps too, and as it shrinks to alpha
    this root is the branch. Radii are found by iteration; the final inequality is checked in balls.

    Args:
        above: an input length of at least 0.
        order: 1 or 2.

    Raises:
        InputError: another order, or a negative or inexact input length.

    Examples:
        >>> from fluidkv.exact import limit_roots
        >>> from fluidkv.exact.mixed.motion.drift import drift_bound
        >>> mix = fk.LengthMix((2, 4), [Fraction(1, 2)])
        >>> bound = drift_bound(mix, limit_roots(mix)[0], above=100)
        >>> bound.order, round(bound.constant, 2)
        (2, 22.2)
    """
    if order not in (1, 2):
        raise InputError("order", order, "1 or 2")
    eps = epsilon(mix, above)
    expansion = drift(mix, root)
    if expansion.first is None or expansion.second is None:
        return DriftBound(BoundStatus.MULTIPLE, order, Fraction(above))
    limit, correction = perturbed(mix)
    with working(_working_bits(limit)):
        alpha = sharp(mix, root)
        p = [modulus(c) for c in taylor(limit, alpha)]
        q = [modulus(c) for c in taylor(correction, alpha)]
        first, second = modulus(expansion.first), modulus(expansion.second)

        def others(k: arb) -> arb:
            """Bound of all but P'(alpha) u on the circle, over eps^(order+1)."""
            if order == 1:
                reach = first + k * eps
                low = p[2] * reach**2 + q[1] * reach
                return low + _tail(p, reach, eps, 3, 2) + _tail(q, reach, eps, 2, 1)
            beyond = second + k * eps  # |w - z1 eps| <= beyond eps^2 for w = z - alpha
            reach = first + eps * beyond
            low = p[2] * beyond * (2 * first + eps * beyond) + q[1] * beyond
            return low + _tail(p, reach, eps, 3, 3) + _tail(q, reach, eps, 2, 2)

        k = arb(0)
        for _ in range(60):
            # a little above the fixed point, where the inequality is strict
            k = arb(float((others(k) / p[1]).upper()) * 1.02)
            if not k < 1e12:
                return DriftBound(BoundStatus.TOO_SHORT, order, Fraction(above))
            if others(k) < p[1] * k:
                return DriftBound(BoundStatus.FOUND, order, Fraction(above), float(k.upper()))
    return DriftBound(BoundStatus.UNDECIDED, order, Fraction(above))


@working(DOUBLE)
def outward_rate(mix: LengthMix, above: Fraction | int) -> OutwardRate:
    """Constants of |z| - 1 = Theta(1/L) for the unit-circle modes, for all L >= `above`.

    Source: Congestion, Lemma 15 (two lengths), B.8.4 and B.9.

    Examples:
        >>> from fluidkv.exact.mixed.motion.drift import outward_rate
        >>> rate = outward_rate(fk.LengthMix((2, 4), [Fraction(1, 2)]), above=100)
        >>> round(rate.low, 3), str(rate.limit), round(rate.high, 3)
        (0.947, '1', 1.053)
    """
    eps = epsilon(mix, above)
    modes = [root for root in limit_roots(mix) if root.unity]
    if not modes:
        return OutwardRate(BoundStatus.NO_MODES, Fraction(above))
    constants = []
    for root in modes:
        bound = drift_bound(mix, root, above, order=1)
        if bound.constant is None:
            return OutwardRate(bound.status, Fraction(above))
        constants.append(bound.constant)
    mean = sum((p * n for p, n in zip(mix.shares, mix.decode_lengths, strict=True)), Fraction(0))
    weighted = Fraction(sum(mix.limit.memory), mix.limit.denominator)
    limit = mean / weighted
    with working(BITS):
        off = arb(max(constants)) * eps
        centre = to_ball(limit)
        # |alpha + z1 eps| is exactly 1 + limit eps, as z1 is a positive multiple of alpha
        low, high = outward(centre - off)[0], outward(centre + off)[1]
    return OutwardRate(BoundStatus.FOUND, Fraction(above), low, high, limit)


def epsilon(mix: LengthMix, input_length: Fraction | int) -> arb:
    """1 / (L + d) in the current precision.

    Raises:
        InputError: a float, or a negative input length.
    """
    mix.weights(input_length)  # raises InputError
    eps = 1 / (Fraction(input_length) + mix.ages)
    return to_ball(eps)


def _working_bits(polynomial: fmpz_poly) -> int:
    """A Taylor shift to a point of modulus near 1 cancels about one bit a degree."""
    return BITS + 2 * polynomial.degree()


def _tail(c: Sequence[arb], reach: arb, eps: arb, start: int, power: int) -> arb:
    """Sum over j >= start of c_j reach^j eps^(j - power)."""
    total = arb(0)
    for j in range(len(c) - 1, start - 1, -1):
        total = total * (reach * eps) + c[j]
    return total * reach**start * eps ** (start - power)
