"""The queue before a segment: how fast its tail falls, and how likely it reaches a level.

Prompts that go on from segment k - 1 wait before segment k until n_k of them are there. A batch
brings Binomial(n_(k-1), p_k) prompts and takes n_k. With a negative drift, p_k n_(k-1) < n_k, the
Lindley chain Q' = max(Q + X - n_k, 0) reaches x in N batches with probability N e^(-eta x) at
most, where eta is the positive root of

    f(eta) = n_(k-1) ln(1 - p_k + p_k e^eta) - n_k eta = 0.

f is convex, f(0) = 0 and f'(0) < 0: a positive root is the only one, and f is below 0 before it.
There is one exactly if n_k < n_(k-1) and p_k > 0, as f grows like (n_(k-1) - n_k) eta. Otherwise
X <= n_k always: the chain never leaves 0, f < 0 for every eta > 0, and eta is infinite. The
constraints (12) do not exclude that: n = (1, 1) satisfies them for any p_2 < 1.

Source: WAIT, appendix C.4 (equation 20, Lemma 8).
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from flint import arb, arb_mat
from flint import ctx as flint_context

from fluidkv.errors import InputError
from fluidkv.exact.precision import outward, shown_alike, to_ball, working
from fluidkv.record import Record
from fluidkv.wait.model import Exact, count, exact, plain, shown

MOST_LEVEL = 400
MOST_PROMPTS = 100_000
MOST_BATCHES = 10**9
"""Up to these `exceedance_probability` multiplies matrices: half a minute at the end."""

_BITS = 96  # a root is known to 2^-64 of itself; the rest is room for f to have a sign beside it
_MOST_BITS = 1 << 14
_CLOSE = 64


@shown_alike
@dataclass(frozen=True)
class Eta(Record):
    """Rate at which the tail of a boundary queue falls, per prompt.

    Fields:
        n_prev, p, n: of the queue.
        ball: encloses the root, to 2^-64 of itself or better; None where eta is infinite.
        lower: the paper's lower bound, 8 (n - p n_prev) / n_prev. It is Hoeffding's: f'' <= n_prev
            / 4, so f(eta) <= n_prev eta^2 / 8 - (n - p n_prev) eta.

    Examples:
        >>> from fluidkv.wait.theory.boundary_queue import eta
        >>> found = eta(2, Fraction(1, 4), 1)
        >>> found.finite, found.lower, round(float(found.ball.mid()), 6)
        (True, Fraction(2, 1), 2.197225)
    """

    n_prev: int
    p: Fraction
    n: int
    ball: arb | None
    lower: Fraction

    @property
    def finite(self) -> bool:
        """Whether the queue can grow at all."""
        return self.ball is not None

    @property
    def reciprocal(self) -> arb:
        """1 / eta: prompts for each factor e of certainty; 0 where eta is infinite."""
        if self.ball is None:
            return arb(0)
        with working(_BITS):
            return 1 / self.ball


def eta(n_prev: int, p: Exact, n: int) -> Eta:
    """The positive root of n_prev ln(1 - p + p e^eta) = n eta, certified.

    Args:
        n_prev: n_(k-1), prompts that a batch of the segment before brings to the boundary.
        p: share of them that goes on, in [0, 1]; exact.
        n: n_k, prompts that a batch takes.

    Raises:
        InputError: a number out of range, or n <= p n_prev: there is no positive root then.
        ArithmeticError: a drift so small that 2^14 bits do not do.

    The sign of f at both ends of a bracket is proved in balls; convexity does the rest.

    Examples:
        >>> from fluidkv.wait.theory.boundary_queue import eta
        >>> found = eta(2, Fraction(1, 4), 1)
        >>> round(float(found.ball.mid().exp()), 9)  # (3/4 + x/4)^2 = x at x = 9
        9.0
    """
    n_prev, p, n = _queue(n_prev, p, n)
    lower = 8 * (n - p * n_prev) / n_prev
    if n >= n_prev or p == 0:
        return Eta(n_prev, p, n, None, lower)
    bits = _BITS
    while bits <= _MOST_BITS:
        with working(bits):
            root = _enclosed(n_prev, p, n)
        if root is not None:
            return Eta(n_prev, p, n, root, lower)
        bits *= 2
    raise ArithmeticError(f"eta: not enclosed in {_MOST_BITS} bits")


def exceedance_probability(n_prev: int, p: Exact, n: int, level: int, batches: int) -> arb:
    """Chance that the Lindley chain from 0 reaches `level` within so many batches, in a ball.

    The chain is cut off at `level`, which absorbs: what has been absorbed is a power of a matrix
    times a vector. Nothing is below 0 and nothing is subtracted, so that the chance keeps its
    digits, however small it is. N e^(-eta level) is the paper's bound on this number.

    Args:
        n_prev: as `eta`, at most `MOST_PROMPTS`.
        p, n: as `eta`; the drift may have any sign.
        level: prompts, from 1 to `MOST_LEVEL`.
        batches: N, from 0 to `MOST_BATCHES`.

    Returns:
        a ball of small relative radius; exactly 0 if the chain cannot grow.

    Raises:
        InputError: a number out of range.
        ArithmeticError: not enclosed to 2^-32 of itself in 2^14 bits; no such case is known.

    Examples:
        >>> from fluidkv.wait.theory.boundary_queue import exceedance_probability
        >>> found = exceedance_probability(2, Fraction(1, 4), 1, level=1, batches=1)
        >>> float(found)  # both of 2 go on: 1/16
        0.0625
    """
    n_prev, p, n = _numbers(n_prev, p, n)
    level, batches = count("level", level), count("batches", batches, least=0)
    if n_prev > MOST_PROMPTS:
        raise InputError("n_prev", n_prev, f"at most {MOST_PROMPTS} prompts")
    if level > MOST_LEVEL:
        raise InputError("level", level, f"at most {MOST_LEVEL} prompts")
    if batches > MOST_BATCHES:
        raise InputError("batches", batches, f"at most {MOST_BATCHES:.0e}")
    if p == 0 or batches * (n_prev - n) < level:
        return arb(0)
    bits = 2 * _BITS
    while bits <= _MOST_BITS:
        with working(bits):
            reached = _absorbed(_law(n_prev, p), n, level, batches)
            if reached.rel_accuracy_bits() >= _CLOSE // 2:
                return reached
        bits *= 2
    raise ArithmeticError(f"the chance of level {level} not enclosed in {_MOST_BITS} bits")


def ends(ball: arb) -> tuple[float, float]:
    """Doubles at or below, and at or above, every point of the ball.

    Examples:
        >>> import math
        >>> from fluidkv.wait.theory.boundary_queue import eta
        >>> from fluidkv.wait.theory.boundary_queue import ends
        >>> low, high = ends(eta(2, Fraction(1, 4), 1).ball)
        >>> low < 2 * math.log(3) < high
        True
    """
    with working(max(64, ball.bits() + 64)):
        return outward(ball)


def _enclosed(n_prev: int, p: Fraction, n: int) -> arb | None:
    """The root between two points where f has proved signs; None if the bits do not do.

    f > 0 at n_prev ln(1/p) / (n_prev - n), since ln(1 - p + p e^eta) > ln p + eta. f increases to
    the right of its root and is convex, so Newton's steps from there fall to it. Where f is flat,
    rounding can keep them from settling: the bits do not do then, after as many steps as bits.
    """
    share, other = to_ball(p), to_ball(1 - p)
    point = (-share.log() * n_prev / (n_prev - n)).mid()
    for _ in range(flint_context.prec):
        slope = n_prev * share / (share + other * (-point).exp()) - n
        if not slope > 0:
            return None
        step = (_f(n_prev, share, n, point) / slope).mid()
        point = (point - step).mid()
        if not abs(step) > point * arb(2) ** -(_CLOSE + 8):
            break
    else:
        return None
    off = point * arb(2) ** -(_CLOSE + 2)
    low, high = (point - off).lower(), (point + off).upper()
    if low > 0 and _f(n_prev, share, n, low) < 0 and _f(n_prev, share, n, high) > 0:
        return low.union(high)
    return None


def _f(n_prev: int, share: arb, n: int, point: arb) -> arb:
    return n_prev * (share * point.expm1()).log1p() - n * point


def _law(n_prev: int, p: Fraction) -> list[arb]:
    """P(X = x) for x = 0..n_prev; p > 0."""
    if p == 1:
        return [arb(0)] * n_prev + [arb(1)]
    odds, law = to_ball(p / (1 - p)), [to_ball(1 - p) ** n_prev]
    for x in range(n_prev):
        law.append(law[-1] * odds * (n_prev - x) / (x + 1))
    return law


def _absorbed(law: list[arb], n: int, level: int, batches: int) -> arb:
    """Chance that the chain from 0 has reached the level after the batches."""
    most = len(law) - 1
    at_most, at_least = list(accumulate(law)), list(accumulate(reversed(law)))

    def row(before: int) -> list[arb]:
        """From `before` to 0, to each place between, and to the level."""
        last = n - before  # the most arrivals after which nobody waits
        first = level + last  # the fewest after which the level is reached
        empty = arb(0) if last < 0 else at_most[min(last, most)]
        between = (law[x] if 0 <= x <= most else arb(0) for x in range(last + 1, first))
        full = at_least[min(most - first, most)] if first <= most else arb(0)
        return [empty, *between, full]

    rows = [*map(row, range(level)), [arb(0)] * level + [arb(1)]]
    power, reached = arb_mat(rows), arb_mat(level + 1, 1, rows[-1])
    while batches:  # all powers of the matrix commute, so the order of the factors is free
        if batches & 1:
            reached = power * reached
        batches >>= 1
        if batches:
            power = power * power
    return reached[0, 0]


def _numbers(n_prev: int, p: Exact, n: int) -> tuple[int, Fraction, int]:
    p = exact("p", p, least=0)
    if p > 1:
        raise InputError("p", str(plain(p)), "a share in [0, 1]")
    return count("n_prev", n_prev), p, count("n", n)


def _queue(n_prev: int, p: Exact, n: int) -> tuple[int, Fraction, int]:
    n_prev, p, n = _numbers(n_prev, p, n)
    if n <= p * n_prev:
        mean = p * n_prev
        raise InputError(
            "n",
            n,
            f"more than p n_prev = {shown(mean)}; at this drift of {shown(mean - n)} a "
            "batch, which is not negative, there is no positive root",
        )
    return n_prev, p, n
