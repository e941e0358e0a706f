"""At which input lengths a mode crosses the unit circle: all of them, with certificates.

F is linear in the input length: F_L(z) = L A_r(z) + C(z). So e^{i theta} is a root of F_L for one
real L at most, and for none unless

    h(theta) = Im(C conj A_r) = 0;        then   L = -C / A_r   at z = e^{i theta}.

The condition does not contain L. Times a power of z it is a polynomial that equals its reciprocal
up to sign; with the trivial factors z - 1 and z + 1 divided out it is a polynomial T of degree at
most d - 2 in z + 1/z = 2 cos(theta). Its roots in (-2, 2) are all crossings but the one at z = -1.
Between neighbouring crossings the number of growing modes cannot change, so they settle the
stability at every input length: no window of stability can hide between two lengths looked at.

How all crossings are found. The circle is covered by cells; in each of them h is shown to have no
zero or to be monotone (`cells`). The signs at the ends of the monotone cells, in balls, then tell
which hold a crossing. Where h has a double zero, or almost, no cell passes; then the complex roots
of T are isolated instead, at much greater cost.

Which way a mode goes. The roots of F_L inside the circle are as many as F_L(e^{i theta}) winds
round 0, that is round by round those of A_r and those of -C/A_r round L. A curve that passes the
real axis upward has one more turn round the points on its left than round those on its right: so
each crossing where Im(-C/A_r) grows with theta turns one root out as L grows past it, and the
mirror image at -theta another one.

With a common input length C = (d - 1) A - z A' + A, so h = 0 says d/d theta |A(e^{i theta})| = 0:
crossings are the critical points of |A| on the unit circle, at l0 + d = Re(z A' / A).

Source: derived here from Congestion, equations (10) and (30). The paper excludes windows of
stability below the threshold for long requests only (Lemma 29).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from flint import acb, arb, arb_poly, fmpz, fmpz_poly
from flint import ctx as flint_context

from fluidkv.exact.mixed.cells import monotone_cells
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.roots.polynomial import enclosed_roots, in_sum_variable, reciprocal

_BITS = (128, 256, 512, 1024)
_WIDTH = 1e-6  # of a crossing's ball, relative; a length inside a ball is counted by itself
_ISOLATE_UP_TO = 200  # degree of T; isolating complex roots takes seconds there, minutes at 500


@dataclass(frozen=True)
class Crossing:
    """An input length at which modes stand on the unit circle.

    Fields:
        length: L, a ball.
        exact: L where it is known as a rational, at z = -1; else None.
        turn: angle / pi of the mode, in (0, 1], a ball; its period is 2 / turn iterations.
        outward: how many modes more lie outside the circle just above L than just below it.
    """

    length: arb
    exact: Fraction | None
    turn: arb
    outward: int


class InputPencil:
    """F_L = L A_r + C of a mix, times one integer, without what A_r and C have in common.

    A common factor is a factor of every F_L: its roots do not move with L. Besides, the part of A_r
    that is its own reciprocal is held apart, A_r = common x rest: the roots of A_r on the unit
    circle are in it. F_L has them as L grows without bound, so they are no crossings; and on the
    circle, with s its degree, common(e^{i theta}) is e^{i theta s / 2} times a real function.

    Fields:
        slope: A_r.
        offset: C, the sum of alpha_s (1 + s) z^{d-1-s}.
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
        self._balls = tuple(arb_poly(p) for p in (self.slope, self.offset, self.common, self.rest))

    @cached_property
    def condition(self) -> fmpz_poly:
        """z^k T(z + 1/z): its roots on the circle are the crossings, but for z = 1 and z = -1."""
        product = self.offset * reciprocal(self.rest)
        degree = self.offset.degree() + self.rest.degree()
        coefficients = product.coeffs() + [fmpz(0)] * (degree - product.degree())
        palindrome = product - fmpz_poly(coefficients[::-1])
        for factor in (fmpz_poly([0, 1]), fmpz_poly([-1, 1]), fmpz_poly([1, 1])):
            while palindrome.degree() > 0 and (palindrome % factor).is_zero():
                palindrome //= factor
        return palindrome

    def crossings(self, *, above: Fraction = Fraction(0)) -> list[Crossing]:
        """All crossings at L >= `above`, in ascending order of their midpoints.

        Crossings whose ball only touches `above` are among them. Modes that stand on the circle at
        every L, roots common to A_r and C, are not.

        Raises:
            ArithmeticError: crossings that could not be told apart; nothing is claimed then.
        """
        separated = _separated(self) or _isolated(self)
        placed = (_placed(self, bracket, above) for bracket in separated.brackets)
        found = [crossing for crossing in placed if crossing is not None]
        found += _at_minus_one(self, separated.last_sign)
        kept = [c for c in found if not c.length < _ball(above)]
        return sorted(kept, key=lambda c: float(c.length.mid()))

    def h(self, turn: float | arb) -> arb:
        """h(pi turn), divided by the real function that `common` is."""
        _, offset, _, rest = self._balls
        z, half = _point(turn, self.common.degree())
        return (offset(z) * (rest(z) * half).conjugate()).imag

    def sign_of_common(self, turn: float | arb) -> int | None:
        """Of the real function that `common` is on the circle, but for e^{i theta s / 2}."""
        z, half = _point(turn, self.common.degree())
        return _sign((self._balls[2](z) / half).real)

    def length(self, turn: arb) -> arb:
        """-C / A_r at e^{i pi turn}: real at a crossing, so the real part of the ball holds it."""
        z, _ = _point(turn, 0)
        slope, offset, _, _ = self._balls
        return (-offset(z) / slope(z)).real


@dataclass(frozen=True)
class _Bracket:
    """One root of h between two turns, about where it is, and the sign of h on its left.

    `double` roots, of even multiplicity, are where h touches 0.
    """

    left: float
    near: float
    right: float
    sign: int
    double: bool


@dataclass(frozen=True)
class _Separated:
    """Brackets of all roots of h in (0, pi), and the sign of h after the last of them."""

    brackets: tuple[_Bracket, ...]
    last_sign: int


def _separated(pencil: InputPencil) -> _Separated | None:
    """Brackets from cells in which h is monotone; None where it has, or almost has, double zeros.

    `common` is divided out of h, which leaves e^{i theta s / 2} with s its degree. Where s > 0 all
    angles are halved, so that this too is a power of the point on the circle.
    """
    turned = pencil.common.degree()
    stretch = 2 if turned else 1
    cells = monotone_cells(
        _spread(pencil.offset, stretch),
        _spread(pencil.rest, stretch),
        turned=turned,
        until=1 / stretch,
    )
    if cells is None:
        return None
    brackets = []
    with flint_context.workprec(_BITS[0]):
        last = _sign(pencil.h(stretch * cells[0].right))
        for cell in cells[1:-1]:
            left, near, right = (stretch * x for x in (cell.left, cell.near, cell.right))
            signs = _sign(pencil.h(left)), _sign(pencil.h(right))
            if signs[0] is None or signs[1] is None or signs[0] != last:
                return None
            if signs[0] != signs[1]:
                brackets.append(_Bracket(left, near, right, signs[0], double=False))
            last = signs[1]
    return None if last is None else _Separated(tuple(brackets), last)


def _spread(polynomial: fmpz_poly, stretch: int) -> list[int]:
    """Coefficients, of the highest power first, `stretch` places apart."""
    coefficients = [int(c) for c in polynomial.coeffs()[::-1]]
    spread = [0] * (stretch * (len(coefficients) - 1) + 1)
    spread[::stretch] = coefficients
    return spread


def _isolated(pencil: InputPencil) -> _Separated:
    """Brackets by isolating the complex roots of T."""
    condition = in_sum_variable(pencil.condition)
    if condition.degree() > _ISOLATE_UP_TO:
        raise ArithmeticError(f"{condition.degree()} crossings that could not be told apart")
    for bits in _BITS:
        with flint_context.workprec(bits):
            roots = [(x.real, m) for x, m in enclosed_roots(condition) if x.imag == 0]
            if any(x.contains(2) or x.contains(-2) for x, _ in roots):
                continue
            turns = [((x / 2).acos() / arb.pi(), m) for x, m in roots if -2 < x < 2]
            turns.sort(key=lambda turn: float(turn[0].mid()))
            middles = [float(turn.mid()) for turn, _ in turns]
            separated = _between(pencil, middles, [m for _, m in turns])
            if separated is not None and all(
                arb(b.left) < turn < arb(b.right)
                for b, (turn, _) in zip(separated.brackets, turns, strict=True)
            ):
                return separated
    raise ArithmeticError("crossings too near one another for balls of a thousand bits")


def _between(
    pencil: InputPencil, roots: list[float], multiplicities: list[int]
) -> _Separated | None:
    """Separators halfway between the roots; None unless the signs there fit the multiplicities."""
    points = [(a + b) / 2 for a, b in pairwise([0.0, *roots, 1.0])]
    signs = [_sign(pencil.h(x)) for x in points]
    brackets = []
    for k, (near, multiplicity) in enumerate(zip(roots, multiplicities, strict=True)):
        sign, after = signs[k], signs[k + 1]
        if sign is None or after is None or (sign == after) != (multiplicity % 2 == 0):
            return None
        double = multiplicity % 2 == 0
        brackets.append(_Bracket(points[k], near, points[k + 1], sign, double=double))
    last = signs[-1]
    return None if last is None else _Separated(tuple(brackets), last)


def _placed(pencil: InputPencil, bracket: _Bracket, above: Fraction) -> Crossing | None:
    """The crossing of a bracket; None if it is certainly below `above`."""
    if bracket.double:
        raise ArithmeticError(f"modes near turn {bracket.near:.9f} touch the unit circle")
    for bits in _BITS:
        with flint_context.workprec(bits):
            turn = _narrowed(pencil, bracket, bits * 3 // 4)
            length = pencil.length(turn)
            if length < _ball(above):
                return None
            side = pencil.sign_of_common(turn)
            if side is not None and length.rad() < _WIDTH * (1 + abs(length)):
                return Crossing(length, None, turn, 2 * side * bracket.sign)
    raise ArithmeticError(f"the crossing near turn {bracket.near:.9f} could not be placed")


def _narrowed(pencil: InputPencil, bracket: _Bracket, digits: int) -> arb:
    """A ball of width about 2^-digits round the root of h in a bracket; its ends have both signs.

    The secant method proposes; where its proposal does not hold, bisection closes in.
    """
    proposed = _secant(pencil, bracket, digits)
    for shift in (6, digits // 2):
        if proposed is not None:
            width = arb(2) ** (shift - digits)
            low, high = proposed - width, proposed + width
            inside = low > arb(bracket.left) and high < arb(bracket.right)
            if inside and _sign(pencil.h(low)) == bracket.sign == -(_sign(pencil.h(high)) or 0):
                return low.union(high)
    low, high = arb(bracket.left), arb(bracket.right)
    for _ in range(digits):
        middle = ((low + high) / 2).mid()
        sign = _sign(pencil.h(middle))
        if sign is None:
            break
        low, high = (middle, high) if sign == bracket.sign else (low, middle)
    return low.union(high)


def _secant(pencil: InputPencil, bracket: _Bracket, digits: int) -> arb | None:
    before, now = arb(bracket.near + (bracket.right - bracket.near) / 64), arb(bracket.near)
    at_before, at_now = pencil.h(before).mid(), pencil.h(now).mid()
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
        at_now = pencil.h(now).mid()
    return None


def _at_minus_one(pencil: InputPencil, sign_before: int) -> list[Crossing]:
    """The crossing at z = -1, if there is one: L is rational there.

    h is odd about pi. If it is positive just before, Im(-C/A_r) grows through 0 there.
    """
    bottom = pencil.slope(-1)
    if bottom == 0:
        return []
    exact = Fraction(-int(pencil.offset(-1)), int(bottom))
    with flint_context.workprec(_BITS[-1]):
        side = pencil.sign_of_common(arb(1))
        if side is None:
            raise ArithmeticError("a real value at z = -1 that is not zero was not told from zero")
        return [Crossing(_ball(exact), exact, arb(1), side * sign_before)]


def _point(turn: float | arb, degree: int) -> tuple[acb, acb]:
    """e^{i pi turn} and e^{i pi turn degree / 2}."""
    return acb(turn).exp_pi_i(), (acb(turn) * degree / 2).exp_pi_i()


def _sign(value: arb) -> int | None:
    return 1 if value > 0 else -1 if value < 0 else None


def _ball(value: Fraction) -> arb:
    return arb(value.numerator) / arb(value.denominator)
