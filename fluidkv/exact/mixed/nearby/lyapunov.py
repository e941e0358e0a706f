"""The quadratic Lyapunov function of the eviction-free dynamics: P with Phi^T P Phi - P = -I.

Phi is a companion matrix, so P is known from its first row p: reading the equation along its
diagonals gives every entry from those of the first row, and that the diagonals end after d entries
gives d linear equations for p,

    p_k - R_k p_0 - sum over m of (c_m p_{m+k+1} + c_{m+k} p_{m+1}) = d if k = 0, else 0,

with c the first row of Phi, R_k = sum of c_m c_{m+k}, p_d = 0. So d unknowns are solved for, not
d^2. The solution is unique and positive definite when Phi is Schur stable.

The last column of Phi is zero, so the last row and column of P are those of the identity: the
smallest eigenvalue of P is exactly 1, for every system.

Source: Congestion, B.6.2 and Lemma 19; B.8.6 for more classes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import cast

from flint import acb, acb_mat, arb, arb_mat, fmpq, fmpq_mat

from fluidkv.exact.mixed.nearby.transition import checked_vector, first_row
from fluidkv.exact.precision import shown_alike, to_ball, to_fmpq, working
from fluidkv.exact.roots.spectrum import count_unstable
from fluidkv.exact.survival import SurvivalWeights
from fluidkv.record import Record
from fluidkv.verdict import Evidence, Stability

EXACT_AGES = 60
"""Up to this longest decode length P is rational, from there on in balls.

On one core the exact solve took 0.2 s at 60 ages and 4 s at 200, where fractions have a thousand
digits.

>>> from fluidkv.exact import lyapunov
>>> from fluidkv.exact.mixed.nearby.lyapunov import EXACT_AGES
>>> weights = fk.survival_weights(fk.Workload.from_lengths([(20, 1), (20, 2)]))
>>> weights.ages <= EXACT_AGES, lyapunov(weights).exact
(True, True)
"""
_BITS = 128
_MOST_BITS = 8192
_WORKING_BITS = 512  # for products and unions of balls, whose radii are far wider
_RELATIVE_RADIUS = 2.0**-48  # to which entries and eigenvalues in balls are enclosed, at worst


@shown_alike
@dataclass(frozen=True)
class Lyapunov(Record):
    """P, or why there is none.

    Fields:
        weights: V and alpha.
        verdict: whether Phi is Schur stable, certified.
        evidence: for the verdict.
        reason: one line.
        matrix: P by rows, d x d, symmetric: rationals up to `EXACT_AGES` ages, balls beyond; None
            unless stable.
    """

    weights: SurvivalWeights
    verdict: Stability
    evidence: Evidence
    reason: str
    matrix: tuple[tuple[Fraction, ...], ...] | tuple[tuple[arb, ...], ...] | None

    @property
    def exact(self) -> bool:
        """Whether P is rational."""
        return self.matrix is not None and isinstance(self.matrix[0][0], Fraction)

    @cached_property
    def norm(self) -> arb:
        """C_P = ||P||_2, the largest eigenvalue, in a ball.

        Raises:
            ArithmeticError: there is no P.
        """
        return largest_eigenvalue(self.flint)

    @cached_property
    def flint(self) -> fmpq_mat | arb_mat:
        """P as a matrix of python-flint; not to be changed.

        Raises:
            ArithmeticError: there is no P.
        """
        if self.matrix is None:
            raise ArithmeticError(f"no Lyapunov matrix: {self.reason}")
        if self.exact:
            rows = cast("tuple[tuple[Fraction, ...], ...]", self.matrix)
            return fmpq_mat([[to_fmpq(x) for x in row] for row in rows])
        balls = cast("tuple[tuple[arb, ...], ...]", self.matrix)
        return arb_mat([list(row) for row in balls])

    def energy(self, y: Sequence[Fraction | int]) -> Fraction | arb:
        """L(y) = y^T P y: rational where P is, a ball else.

        Raises:
            InputError: a vector of the wrong length or of floats.
            ArithmeticError: there is no P.
        """
        vector = checked_vector(self.weights, "y", y)
        return inner_product(self.flint, vector, vector)


def lyapunov(weights: SurvivalWeights) -> Lyapunov:
    """Solve Phi^T P Phi - P = -I.

    Args:
        weights: V of any number of classes; `LengthMix.weights` gives them at any input length.

    Examples:
        >>> from fluidkv.exact import lyapunov
        >>> found = lyapunov(fk.survival_weights(fk.Workload.from_lengths([(20, 1), (20, 2)])))
        >>> [[str(x) for x in row] for row in found.matrix], str(found.energy([1, 0]))
        ([['441/160', '0'], ['0', '1']], '441/160')
    """
    count = count_unstable(weights)
    if count.outside is None:
        reason = "a root of F is too near the unit circle to place it on either side"
        return Lyapunov(weights, Stability.UNDECIDED, count.evidence, reason, None)
    if count.outside:
        reason = f"{_roots(count.outside)} outside the unit circle"
        return Lyapunov(weights, Stability.UNSTABLE, count.evidence, reason, None)
    if count.on_circle:
        reason = f"{_roots(count.on_circle)} on the unit circle"
        return Lyapunov(weights, Stability.UNDECIDED, count.evidence, reason, None)
    row = first_row(weights)
    stable = "all roots of F inside the unit circle"
    if weights.ages <= EXACT_AGES:
        matrix = _solve_rational(row)
        return Lyapunov(weights, Stability.STABLE, count.evidence, stable, matrix)
    balls = _solve_balls(row)
    if balls is None:
        stable += f"; P not enclosed in {_MOST_BITS} bits"
    return Lyapunov(weights, Stability.STABLE, count.evidence, stable, balls)


def inner_product(
    matrix: fmpq_mat | arb_mat, left: Sequence[Fraction], right: Sequence[Fraction]
) -> Fraction | arb:
    """u^T A v: rational for a rational matrix, a ball else.

    Examples:
        >>> from flint import fmpq_mat
        >>> from fluidkv.exact.mixed.nearby.lyapunov import inner_product
        >>> u, v = [Fraction(1), Fraction(0)], [Fraction(1), Fraction(3)]
        >>> inner_product(fmpq_mat([[2, 1], [1, 2]]), u, v)
        Fraction(5, 1)
    """
    n = len(right)
    if isinstance(matrix, fmpq_mat):
        row = fmpq_mat(1, n, [to_fmpq(u) for u in left])
        column = fmpq_mat(n, 1, [to_fmpq(v) for v in right])
        return _fraction((row * matrix * column)[0, 0])
    with working(_WORKING_BITS):
        row = arb_mat(1, n, [to_ball(u) for u in left])
        column = arb_mat(n, 1, [to_ball(v) for v in right])
        return (row * matrix * column)[0, 0]


def inverse(matrix: fmpq_mat | arb_mat) -> fmpq_mat | arb_mat:
    """A^-1, rational or in balls."""
    with working(_WORKING_BITS):
        return matrix.inv()


@working(_WORKING_BITS)
def largest_eigenvalue(symmetric: fmpq_mat | arb_mat) -> arb:
    """The largest eigenvalue of a symmetric matrix, in a ball.

    Raises:
        ArithmeticError: not enclosed in the bits allowed.

    Examples:
        >>> from flint import fmpq_mat
        >>> from fluidkv.exact.mixed.nearby.lyapunov import largest_eigenvalue
        >>> round(float(largest_eigenvalue(fmpq_mat([[2, 1], [1, 2]])).mid()), 6)
        3.0
    """
    eigenvalues = enclosed_eigenvalues(symmetric)
    # compared as they are: floats would not tell apart what agrees to sixteen digits
    return max(x.lower() for x in eigenvalues).union(max(x.upper() for x in eigenvalues))


def enclosed_eigenvalues(symmetric: fmpq_mat | arb_mat) -> list[arb]:
    """A ball for each eigenvalue of a symmetric matrix, with multiplicity, in no order.

    Raises:
        ArithmeticError: not enclosed in the bits allowed.

    Examples:
        >>> from flint import fmpq_mat
        >>> from fluidkv.exact.mixed.nearby.lyapunov import enclosed_eigenvalues
        >>> sorted(float(x.mid()) for x in enclosed_eigenvalues(fmpq_mat([[2, 1], [1, 2]])))
        [1.0, 3.0]
    """
    bits = _BITS
    while bits <= _MOST_BITS:
        with working(bits):
            matrix = acb_mat(arb_mat(symmetric))
            try:
                values = cast("list[acb]", matrix.eig(multiple=True))
            except ValueError:  # not separated in so few bits
                values = []
            # Symmetric, so every eigenvalue is real: the imaginary part of a ball says nothing.
            if values and all(_tight(value.real) for value in values):
                return [value.real for value in values]
        bits *= 2
    raise ArithmeticError(f"eigenvalues not enclosed in {_MOST_BITS} bits")


def _roots(count: int) -> str:
    return f"{count} root of F" if count == 1 else f"{count} roots of F"


def _solve_rational(row: Sequence[Fraction]) -> tuple[tuple[Fraction, ...], ...]:
    d = len(row)
    system = fmpq_mat(d, d, [to_fmpq(x) for x in _equations(row)])
    right = fmpq_mat(d, 1, [fmpq(d)] + [fmpq(0)] * (d - 1))
    first = [_fraction(x) for x in system.solve(right).entries()]
    return tuple(map(tuple, _from_first_row(row, first)))


def _solve_balls(row: Sequence[Fraction]) -> tuple[tuple[arb, ...], ...] | None:
    """P in balls; more and more bits until all are small. None if they never are."""
    d = len(row)
    entries = list(_equations(row))
    bits = _BITS
    while bits <= _MOST_BITS:
        with working(bits):
            system = arb_mat(d, d, [to_ball(x) for x in entries])
            right = arb_mat(d, 1, [arb(d)] + [arb(0)] * (d - 1))
            try:
                first = system.solve(right).entries()
            except ZeroDivisionError:  # singular as far as these balls tell
                first = None
            if first is not None:
                rows = _from_first_row([to_ball(c) for c in row], first)
                if all(_tight(rows[i][i]) for i in range(d)):
                    return tuple(map(tuple, rows))
        bits *= 2
    return None


def _equations(row: Sequence[Fraction]) -> Iterator[Fraction]:
    """The d x d system for the first row of P, row by row."""
    d = len(row)
    for k in range(d):
        line = [Fraction(0)] * (d + 1)  # the last stands for p_d = 0
        line[k] += 1
        for m in range(d - k):
            line[0] -= row[m] * row[m + k]
            line[m + k + 1] -= row[m]
            line[m + 1] -= row[m + k]
        yield from line[:d]


def _from_first_row(c: Sequence, first: Sequence) -> list[list]:
    """P from its first row, one row from the one above; rationals or balls."""
    d = len(first)
    top = [*first, 0 * first[0]]  # p_d = 0
    rows = [list(first)]
    for i in range(d - 1):
        above = rows[-1]
        line = [rows[j][i + 1] for j in range(i + 1)]  # by symmetry
        for j in range(i, d - 1):
            entry = above[j] - c[i] * c[j] * top[0] - c[i] * top[j + 1] - c[j] * top[i + 1]
            line.append(entry - 1 if i == j else entry)
        rows.append(line)
    return rows


def _tight(ball: arb) -> bool:
    return ball.is_finite() and float(ball.rad()) <= _RELATIVE_RADIUS * max(
        1.0, abs(float(ball.mid()))
    )


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))
