"""A root of F followed from its limit, L = infinity, down to any input length, with a certificate.

In eps = 1 / (L + d) the way is short: from 0 to at most 1/d. It is covered by intervals of eps with
a disc each. On the rim of its disc the linear Taylor term outweighs all the others for every eps of
the interval, so that for each of them the disc holds exactly one root, a simple one, which is
continuous in eps. Where one interval ends and the next begins, a small disc that holds a root lies
in both discs; so both hold the same root. The branch is therefore identified on the whole way and
not only at the input lengths at which it is reported.

Where no interval is short enough, two roots meet or come too close; then the branch ends there with
a status. A double root needs a zero of the discriminant of F, which is a number for each rational
eps: where it changes sign across the end of the branch, there is a double root in between, exactly.

Sources: Congestion, Theorem 24 (which claims a branch for small eps) and B.4.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb, fmpz_poly

from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.mixed.motion.discs import Disc, alone, combined, modulus, newton_disc, taylor
from fluidkv.exact.mixed.motion.drift import BranchStatus
from fluidkv.exact.mixed.motion.limit import BITS, LimitRoot, perturbed
from fluidkv.exact.precision import shown_alike, to_ball, working
from fluidkv.record import Record

_SHORTEST = Fraction(1, 2**48)  # of an interval, relative to 1/d
_WIDER = (Fraction(9, 8), Fraction(3, 2), Fraction(2), Fraction(3))  # radii tried, in turn


@shown_alike
@dataclass(frozen=True)
class BranchPoint(Record):
    """The branch at one input length: F at this L has exactly one root in `ball`, this one."""

    input_length: Fraction
    ball: acb

    @property
    def modulus(self) -> arb:
        with working(BITS):
            return modulus(self.ball)


@dataclass(frozen=True)
class Branch(Record):
    """A root of F at several input lengths, continued from a root of the limit.

    Fields:
        root: where it starts.
        status: tracked; multiple, collision or close if it ends before the shortest input length.
        points: by falling input length, those that were reached.
        bracket: (low, high), the input lengths between which it ends; `high` was reached. None if
            tracked. (low, None) if nothing was.
        intervals: discs in the chain.
    """

    root: LimitRoot
    status: BranchStatus
    points: tuple[BranchPoint, ...]
    bracket: tuple[Fraction, Fraction | None] | None
    intervals: int


def track(mix: LengthMix, root: LimitRoot, input_lengths: Iterable[Fraction | int]) -> Branch:
    """Follow the branch that starts at a root of the limit through the given input lengths.

    Args:
        root: of `limit_roots(mix)`.
        input_lengths: at least 0, exact, in any order.

    Raises:
        InputError: a float, or a negative input length.

    Examples:
        >>> from fluidkv.exact import limit_roots, track
        >>> mix = fk.LengthMix((2, 4), [Fraction(1, 2)])
        >>> branch = track(mix, limit_roots(mix)[0], [100, 10])
        >>> [(str(p.input_length), round(float(p.modulus.mid()), 4)) for p in branch.points]
        [('100', 1.0098), ('10', 1.0862)]
    """
    lengths = sorted({_checked(mix, value) for value in input_lengths}, reverse=True)
    if root.multiplicity > 1:
        end = (lengths[0], None) if lengths else None
        return Branch(root, BranchStatus.MULTIPLE, (), end, 0)
    limit, correction = perturbed(mix)
    points: list[BranchPoint] = []
    with working(BITS + 2 * limit.degree()):
        start = newton_disc(limit, correction, arb(0), root.ball)
        if start is None:
            raise ArithmeticError(f"no disc about {root.ball}, a simple root of the limit")
        walk = _Walk(limit, correction, mix.ages, start)
        for length in lengths:
            if not walk.to(1 / (length + mix.ages)):
                break
            points.append(BranchPoint(length, walk.here.ball))
        else:
            return Branch(root, BranchStatus.TRACKED, tuple(points), None, walk.intervals)
        tried = walk.eps + walk.shortest
        before = 1 / walk.eps - mix.ages if walk.eps else None
        status = _ending(limit, correction, walk.eps, tried)
    return Branch(root, status, tuple(points), (1 / tried - mix.ages, before), walk.intervals)


class _Walk:
    """Where the chain of discs stands: the root at `eps` lies alone in `here`."""

    def __init__(self, p: fmpz_poly, q: fmpz_poly, d: int, start: Disc) -> None:
        self.p, self.q = p, q
        self.eps, self.here = Fraction(0), start
        self.intervals = 0
        self.shortest = _SHORTEST / d
        self._step = Fraction(1, 4 * d)

    def to(self, target: Fraction) -> bool:
        """Go on until `target`; False if some interval would be shorter than `shortest`."""
        while self.eps < target:
            end = min(target, self.eps + self._step)
            there = self._cover(end)
            if there is not None:
                self.eps, self.here = end, there
                self.intervals += 1
                self._step = self._step * 3 / 2
            elif self._step > self.shortest:
                self._step = max(self._step / 4, self.shortest)
            else:
                return False
            self._step = _short(self._step)
        return True

    def _cover(self, end: Fraction) -> Disc | None:
        """One disc for all eps from here to `end`; the small disc at `end`, or None."""
        there = newton_disc(self.p, self.q, to_ball(end), self.here.centre)
        if there is None:
            return None
        middle = ((self.here.centre + there.centre) / 2).mid()
        needed = max(
            (modulus(x.centre - middle) + x.radius for x in (self.here, there)),
            key=lambda r: float(r.upper()),
        ).upper()
        centre = (self.eps + end) / 2
        eps = to_ball(centre) + arb(0, 1) * to_ball((end - self.eps) / 2)
        coefficients = combined(taylor(self.p, middle), taylor(self.q, middle), eps)
        for factor in _WIDER:
            disc = Disc(middle, (needed * to_ball(factor)).upper())
            if alone(coefficients, disc.radius) and self.here.inside(disc) and there.inside(disc):
                return there
        return None


def _ending(p: fmpz_poly, q: fmpz_poly, low: Fraction, high: Fraction) -> BranchStatus:
    """Collision if the discriminant of P + eps Q changes sign, which needs a double root."""

    def sign(eps: Fraction) -> int:
        value = int((eps.denominator * p + eps.numerator * q).discriminant())
        return (value > 0) - (value < 0)

    return BranchStatus.COLLISION if sign(low) * sign(high) < 0 else BranchStatus.CLOSE


def _checked(mix: LengthMix, value: Fraction | int) -> Fraction:
    mix.weights(value)  # raises InputError
    return Fraction(value)


def _short(step: Fraction, *, bits: int = 12) -> Fraction:
    """Rounded down to a few binary digits, so that the rationals of the chain stay short."""
    unit = Fraction(2) ** (step.numerator.bit_length() - step.denominator.bit_length() - bits)
    return (step // unit) * unit
