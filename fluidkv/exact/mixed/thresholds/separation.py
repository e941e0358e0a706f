"""Every zero of h in (0, pi) that may be a crossing at L >= 0, each alone in a bracket.

By cells: the half circle is covered by cells in each of which h has no zero or is monotone
(`cells`); the signs at the ends of the monotone ones, in balls, tell which hold a zero. This takes
milliseconds for short outputs and seconds for thousands of tokens.

By isolation: where h has a zero of higher order, or almost, no cell passes. Then the roots of T,
complex ones too, are isolated in balls with their multiplicities. This takes minutes at degree 500.
"""

from dataclasses import dataclass
from itertools import pairwise

from flint import arb, fmpz_poly

from fluidkv.exact.mixed.thresholds.cells import monotone_cells
from fluidkv.exact.mixed.thresholds.condition import CrossingCondition, sign_of
from fluidkv.exact.precision import working
from fluidkv.exact.roots.polynomial import enclosed_roots, in_sum_variable

BITS = (128, 256, 512, 1024)
_ISOLATE_UP_TO = 200  # degree of T; isolating complex roots takes seconds there, minutes at 500


@dataclass(frozen=True)
class Bracket:
    """One zero of h between two turns (angles over pi), and about where it is.

    Fields:
        sign: of h on its left.
        touching: None where h changes sign; else which of the zeros in (0, pi) this is, where h
            only touches 0: a zero of even order.
    """

    left: float
    near: float
    right: float
    sign: int
    touching: int | None = None


@dataclass(frozen=True)
class Separation:
    """Brackets of the zeros of h in (0, pi), ascending, and the sign of h after all of them.

    Zeros at which L is certainly negative may be missing.
    """

    brackets: tuple[Bracket, ...]
    last_sign: int


def separate(condition: CrossingCondition) -> Separation:
    """All zeros at which L may be 0 or more, by cells if that works, else by isolation.

    Raises:
        ArithmeticError: zeros that could not be told apart.
    """
    return by_cells(condition) or by_isolation(condition)


def by_cells(condition: CrossingCondition) -> Separation | None:
    """Brackets from cells in which h is monotone; None where it has, or almost has, double zeros.

    `common` is divided out of h, which leaves e^{i theta s / 2} with s its degree. Where s > 0 all
    angles are halved, so that this too is a power of the point on the circle.
    """
    turned = condition.common.degree()
    stretch = 2 if turned else 1
    cells = monotone_cells(
        _spread(condition.offset, stretch),
        _spread(condition.rest, stretch),
        turned=turned,
        until=1 / stretch,
    )
    if not cells:
        return None
    # h is 0 at 0, and at pi if it is odd about it: the cells there hold this one zero each
    inner = cells[1:-1] if condition.zero_at_minus_one else cells[1:]
    brackets = []
    edge, last = cells[0].right, None
    with working(BITS[0]):
        for cell in inner:
            edge = cell.right
            # with `common` divided out, the sign of Re(C conj A_r) would not be known
            if cell.positive and not turned:
                last = None
                continue
            left, near, right = (stretch * x for x in (cell.left, cell.near, cell.right))
            before, after = sign_of(condition.h(left)), sign_of(condition.h(right))
            if before is None or after is None or (last is not None and before != last):
                return None
            if before != after:
                brackets.append(Bracket(left, near, right, before))
            last = after
        last = sign_of(condition.h(stretch * edge))
    return None if last is None else Separation(tuple(brackets), last)


def by_isolation(condition: CrossingCondition) -> Separation:
    """Brackets from the complex roots of T.

    Raises:
        ArithmeticError: T is of too high a degree, or has roots too near one another.
    """
    polynomial = in_sum_variable(condition.palindrome)
    if polynomial.degree() > _ISOLATE_UP_TO:
        raise ArithmeticError(f"{polynomial.degree()} crossings that could not be told apart")
    for bits in BITS:
        with working(bits):
            zeros = _zeros(polynomial)
            separation = None if zeros is None else _between(condition, zeros)
            if separation is not None:
                return separation
    raise ArithmeticError("crossings too near one another for balls of a thousand bits")


def touching_turn(condition: CrossingCondition, place: int) -> arb | None:
    """The turn of the zero of h in (0, pi) with this index, of any order; current precision."""
    zeros = _zeros(in_sum_variable(condition.palindrome))
    return None if zeros is None else zeros[place][0]


def _zeros(polynomial: fmpz_poly) -> list[tuple[arb, int]] | None:
    """Turns of the zeros of h in (0, pi) and their orders, ascending; None: too few bits."""
    roots = [(x.real, m) for x, m in enclosed_roots(polynomial) if x.imag == 0]
    if any(x.contains(2) or x.contains(-2) for x, _ in roots):
        return None
    turns = [((x / 2).acos() / arb.pi(), m) for x, m in roots if -2 < x < 2]
    turns.sort(key=lambda turn: float(turn[0].mid()))
    return turns if all(a < b for (a, _), (b, _) in pairwise(turns)) else None


def _between(condition: CrossingCondition, zeros: list[tuple[arb, int]]) -> Separation | None:
    """Separators halfway between the zeros; None unless the signs there fit their orders."""
    middles = [float(turn.mid()) for turn, _ in zeros]
    points = [(a + b) / 2 for a, b in pairwise([0.0, *middles, 1.0])]
    signs = [sign_of(condition.h(x)) for x in points]
    brackets = []
    for k, (turn, order) in enumerate(zeros):
        before, after = signs[k], signs[k + 1]
        even = order % 2 == 0
        if before is None or after is None or (before == after) != even:
            return None
        if not arb(points[k]) < turn < arb(points[k + 1]):
            return None
        place = k if even else None
        brackets.append(Bracket(points[k], middles[k], points[k + 1], before, place))
    last = signs[-1]
    return None if last is None else Separation(tuple(brackets), last)


def _spread(polynomial: fmpz_poly, stretch: int) -> list[int]:
    """Coefficients, of the highest power first, `stretch` places apart."""
    coefficients = [int(c) for c in polynomial.coeffs()[::-1]]
    spread = [0] * (stretch * (len(coefficients) - 1) + 1)
    spread[::stretch] = coefficients
    return spread
