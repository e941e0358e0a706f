"""At which input lengths a mode crosses the unit circle: all of them, with certificates.

The zeros of h (`condition`) are all angles at which a root of F_L = L A_r + C ever stands on the
unit circle, each at the one input length L = -C / A_r. They are separated from one another
(`separation`), and each is then enclosed, angle and L, in balls. At z = 1, where h is 0 as well, L
is negative. Between neighbouring crossings the number of growing modes cannot change: so they
settle the stability at every input length, and no window of stability can hide between two lengths
looked at.

Which way a mode goes. Let G = -C / A_r, so that F_L = A_r (L - G). As the point on the circle goes
once round, F_L winds as often round 0 as it has roots inside; that is as often as A_r does, plus as
often as G winds round L. (Where A_r has roots on the circle, go past them on small arcs inside it:
G is far from every L there.) A curve that passes the real axis upward winds once more round the
points on its left, L just below, than round those on its right. So each crossing where Im G grows
through 0 with theta has one root fewer inside above L than below: it goes out, and its mirror
image at -theta with it. If Im G falls, both come in. If it touches 0 and turns back, as many lie
outside above L as below. Only the sign of Im G before and after counts, so all this holds for zeros
of any order, where several roots meet.

    Im G = -h(theta) |A_r|^-2,        h here with the zeros of A_r on the circle

With a common input length C = d A - z A', so h = 0 says d/d theta |A(e^{i theta})| = 0: crossings
are the critical points of |A| on the unit circle, at l0 + d = Re(z A' / A).

Source: derived here from Congestion, equations (10) and (30). The paper excludes windows of
stability below the threshold for long requests only (Lemma 29).
"""

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.mixed.thresholds.condition import CrossingCondition, sign_of
from fluidkv.exact.mixed.thresholds.separation import BITS, Bracket, separate, touching_turn
from fluidkv.exact.precision import shown_alike, to_ball, working
from fluidkv.keys import Key, Keyed

_FEW_BITS = 64  # enough for most crossings of lengths below a hundred, at half the cost
# A whole length inside a crossing's ball is counted by itself: no ball holds two of them.
_RELATIVE_WIDTH, _WIDTH = 1e-6, 1e-2


TITLES = {
    "length": ("token", "input length at which modes stand on the circle"),
    "period": ("iteration", "iterations in which the mode turns once"),
    "outward": ("1", "how many modes more lie outside just above it"),
}
"""Of crossings as a table: attribute -> units, what it is."""


@shown_alike
@dataclass(frozen=True)
class Crossing(Keyed):
    """An input length at which modes stand on the unit circle.

    Fields:
        length: L, a ball.
        exact: L where it is known as a rational, at z = -1; else None.
        turn: angle / pi of the mode, in (0, 1], a ball; its period is 2 / turn iterations.
        outward: how many modes more lie outside the circle just above L than just below it; 0
            where modes touch the circle.

    Examples:
        >>> from fluidkv.exact.mixed.thresholds.pencil import InputPencil
        >>> last = InputPencil(fk.LengthMix((5, 9), [Fraction(1, 2)])).crossings()[-1]
        >>> round(float(last.length.mid()), 3), round(last.period, 2), last.outward
        (64.433, 4.66, -2)
    """

    length: arb
    exact: Fraction | None
    turn: arb
    outward: int

    KEYS = (
        Key("input_length", "tokens", "its middle", lambda at: float(at.length.mid())),
        Key(
            "input_length_exact",
            "text",
            what="the same as a fraction, of modes that turn by a half",
            of=lambda at: None if at.exact is None else str(at.exact),
        ),
        Key("period", "iterations"),
        Key("modes_outward", "count", of="outward"),
    )

    @property
    def period(self) -> float:
        """Iterations in which the mode turns once."""
        return 2 / float(self.turn.mid())


class InputPencil:
    """F_L = L A_r + C of a mix, for all input lengths L at once.

    Examples:
        >>> from fluidkv.exact.mixed.thresholds.pencil import InputPencil
        >>> crossings = InputPencil(fk.LengthMix((5, 9), [Fraction(1, 2)])).crossings()
        >>> [(round(float(c.length.mid()), 2), c.outward) for c in crossings]
        [(1.12, -2), (3.77, -2), (12.7, -2), (64.43, -2)]
    """

    def __init__(self, mix: LengthMix) -> None:
        self.condition = CrossingCondition(mix)

    def crossings(self) -> list[Crossing]:
        """All crossings at L >= 0, in ascending order of their midpoints.

        Crossings whose ball only touches 0 are among them.

        Raises:
            ArithmeticError: crossings that could not be told apart; nothing is claimed then.
        """
        if self.condition.never:
            return []
        separation = separate(self.condition)
        placed = (_placed(self.condition, bracket) for bracket in separation.brackets)
        found = [crossing for crossing in placed if crossing is not None]
        if self.condition.zero_at_minus_one:
            found.append(_at_minus_one(self.condition, separation.last_sign))
        kept = [c for c in found if not c.length < 0]
        return sorted(kept, key=lambda c: float(c.length.mid()))


def _placed(condition: CrossingCondition, bracket: Bracket) -> Crossing | None:
    """The crossing of a bracket; None if it is certainly below 0."""
    for bits in (_FEW_BITS, *BITS):
        with working(bits):
            if bracket.touching is None:
                turn = _narrowed(condition, bracket, bits * 3 // 4)
            else:
                turn = touching_turn(condition, bracket.touching)
            if turn is None:
                continue
            length = condition.length(turn)
            if length < 0:
                return None
            side = condition.sign_of_common(turn)
            narrow = length.rad() < _WIDTH and length.rad() < _RELATIVE_WIDTH * (1 + abs(length))
            if side is not None and narrow:
                outward = 2 * side * bracket.sign if bracket.touching is None else 0
                return Crossing(length, None, turn, outward)
    raise ArithmeticError(f"the crossing near turn {bracket.near:.9f} could not be placed")


def _narrowed(condition: CrossingCondition, bracket: Bracket, digits: int) -> arb:
    """A ball of width about 2^-digits round the root of h in a bracket; its ends have both signs.

    The secant method proposes; where its proposal does not hold, bisection closes in.
    """
    proposed = _secant(condition, bracket, digits)
    for shift in (6, digits // 2):
        if proposed is not None:
            width = arb(2) ** (shift - digits)
            low, high = proposed - width, proposed + width
            inside = low > arb(bracket.left) and high < arb(bracket.right)
            if inside and sign_of(condition.h(low)) == bracket.sign == -(
                sign_of(condition.h(high)) or 0
            ):
                return low.union(high)
    low, high = arb(bracket.left), arb(bracket.right)
    for _ in range(digits):
        middle = ((low + high) / 2).mid()
        sign = sign_of(condition.h(middle))
        if sign is None:
            break
        low, high = (middle, high) if sign == bracket.sign else (low, middle)
    return low.union(high)


def _secant(condition: CrossingCondition, bracket: Bracket, digits: int) -> arb | None:
    before, now = arb(bracket.near + (bracket.right - bracket.near) / 64), arb(bracket.near)
    at_before, at_now = condition.h(before).mid(), condition.h(now).mid()
    for _ in range(12):
        rise = at_now - at_before
        if rise == 0:
            return now
        step = (at_now * (now - before) / rise).mid()
        before, at_before = now, at_now
        now = (now - step).mid()
        if abs(step) < arb(2) ** (-digits // 2):  # the next step would be below 2^-digits
            return now
        if not arb(bracket.left) < now < arb(bracket.right):
            return None
        at_now = condition.h(now).mid()
    return None


def _at_minus_one(condition: CrossingCondition, sign_before: int) -> Crossing:
    """The crossing at z = -1, where L is rational.

    A single root, or an odd number of them, crosses there. h is odd about pi: if it is positive
    just before, it falls through 0.
    """
    exact = Fraction(-int(condition.offset(-1)), int(condition.slope(-1)))
    with working(BITS[-1]):
        side = condition.sign_of_common(arb(1))
        if side is None:
            raise ArithmeticError("a real value at z = -1 that is not zero was not told from zero")
        length = to_ball(exact)
        return Crossing(length, exact, arb(1), side * sign_before)
