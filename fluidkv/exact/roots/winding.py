"""How many roots of F lie outside a circle: a winding number with every error bounded.

With w = 1/z, the roots of F(z) = sum of V_s z^{d-1-s} outside |z| = 1/R are the zeros of

    G(w) = sum of V_s w^s          inside |w| = R,

and their number is the winding number of G along |w| = R. G is better to follow than F: it turns
once for each root that counts, F once for each of the (usually far more numerous) others.

Only the upper half of the circle is followed, because G(conj w) = conj G(w): over it the argument
of G changes by pi times the count. (G may be any real polynomial with G(0) != 0.) The half circle
is covered by cells [x - h, x + h] of the angle theta = pi x. With g(theta) = G(R e^{i theta}) and
t = pi h, a cell passes when

    rounding + sum over 0 < j < m of |g^(j)(pi x)| t^j / j! + max |g^(m)| t^m / m!
                                                                      <=  0.9 |g(pi x)|.

Then g stays over the whole cell in a disc around the computed value that misses 0 (Taylor's
theorem, the remainder bounded by the sum of moduli), so the change of argument from one cell centre
to the next is the principal one. Cells that do not pass are halved.

Rounding, with u = 2^-53. All sums below are ordinary dot products of real numbers, for which
|computed - exact| <= n u / (1 - n u) * (sum of moduli) holds in any order of summation. A complex
product has relative error at most sqrt(5) u < 3u. Then, to first order in u:

    the point e^{i theta}            5u              two factors from balls (1u each), one product
    its s-th power                   8su             s factors in error by 5u, s - 1 products
    coefficient V_s R^s (s t)^j/j!   (s + 40)u
    two-level sum                    2(n1 + n2)u + 6u

where s = r + n1 c, r < n1, c < n2, and the sum over c is taken first. On the grid of angles
pi k / N, n1 a divisor of 2N, both sums are matrix products: e^{i n1 c theta} depends only on
k mod P, P = 2N / n1, and with k = k1 + P k2, k1 < P, the point e^{i r theta} is a twiddle, which
depends on k1 and r, times one that depends on k2 and r. All of these are points of the grid; no
power is computed:

    three points                     15u             for c and k1, for r and k1, for r and k2
    product with the twiddle         3u
    sum over c, then over r          2 n2 u + 3 n1 u  dot products of lengths n2 and 2 n1

`Series` takes (12 s + 4 (n1 + n2) + 100)u in place of (9 s + 2 (n1 + n2) + 51)u and of
(s + 3 (n1 + n2) + 58)u; the surplus covers the second-order terms as long as 12 s u < 1/100, that
is for any polynomial that fits in memory.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

import numpy as np
from flint import acb, arb
from numpy.typing import NDArray

from fluidkv.exact.precision import working
from fluidkv.exact.roots.products import Complexes, Floats, product, real_times
from fluidkv.record import Record

_UNIT = 2.0**-53
_ORDERS = 5  # m: values and four derivatives are computed, the fifth is bounded
_FILL = 0.9  # of |g| that the variation over a cell may take up
_MAX_HALVINGS = 30  # of a grid cell: then x = k / 2^q keeps q < 53, exact in a float
_MAX_GRID = 1 << 19
_MAX_CELLS = 1 << 21
# Above this degree one circle takes seconds, and each cell made by halving a tenth of a millisecond
# and more: their number, times the coefficients, is bounded. A circle among thousands of roots, as
# at the modulus round which they cluster, would take minutes else, and rarely close.
HIGH_DEGREE = 4096
_MOST_WORK = 1 << 31


@dataclass(frozen=True)
class Covering(Record):
    """Cells over the upper half circle, in order of angle.

    Fields, over n cells:
        centres: [n] angle / pi, in [0, 1].
        half_widths: [n] in the same unit.
        taylor: [m, n] computed g^(j)(pi x) (pi h / i)^j / j!, j = 0 ... m-1.
        fill: [n] rigorous bound on the variation of g over the cell, over |g| at its centre.
    """

    centres: Floats
    half_widths: Floats
    taylor: Complexes
    fill: Floats


@dataclass(frozen=True)
class WindingCertificate(Record):
    """A count of roots outside a circle, and the covering of the circle that proves it.

    Fields:
        radius: of the circle in the z plane, exact.
        outside: roots of F with |z| > radius, with multiplicity. No root lies on the circle.
        covering: cells that all pass.
    """

    radius: Fraction
    outside: int
    covering: Covering

    @property
    def cells(self) -> int:
        return len(self.covering.centres)

    @property
    def clearance(self) -> float:
        """1 - fill of the tightest cell, at least 0.1: how far the proof is from failing."""
        return 1 - float(self.covering.fill.max())


class Series:
    """G(w) = sum of a_s w^s on the unit circle, a_s = V_s R^s, ready for rigorous evaluation.

    Args:
        coefficients: [d] integers V_s, V_0 != 0, any common scale.
        inverse_radius: R > 0, taken as the exact value of the float.
        grid_cells: cells of the grid on the half circle, a power of two of at least 64; None
            chooses by the fifth derivative.

    Raises:
        OverflowError: some V_s R^s / max |V|, or what is made of it, is beyond the range of double
            precision.
    """

    def __init__(
        self,
        coefficients: Sequence[int],
        inverse_radius: float = 1.0,
        *,
        grid_cells: int | None = None,
    ) -> None:
        d = len(coefficients)
        self.degree = d - 1
        top = max(abs(v) for v in coefficients)
        self.inverse_radius = inverse_radius
        weights = np.array([v / top for v in coefficients])
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            terms = weights * _powers(np.array([inverse_radius]), d)[:, 0]
        # a weight that underflows keeps no digits, which matters once R^s enlarges it
        tiny = np.abs(weights) < np.finfo(np.float64).tiny
        underflows = any(v and small for v, small in zip(coefficients, tiny, strict=True))
        if (underflows and inverse_radius > 1) or not np.isfinite(terms.sum()):
            raise OverflowError("V_s R^s is beyond the range of double precision")
        self.grid_cells = self._choose_grid(terms) if grid_cells is None else grid_cells
        # orders[j, s] = a_s (s t)^j / j! at the grid's own t, for j = 0 ... m.
        exponents = np.arange(d) * self.half_cell
        orders = np.stack([terms] * (_ORDERS + 1))
        for j in range(1, _ORDERS + 1):
            orders[j] = orders[j - 1] * exponents / j
        # n1 near sqrt(d), and a divisor of 2N as the grid needs
        rows = min(1 << max(1, (d.bit_length() + 1) // 2), 2 * self.grid_cells)
        columns = -(-d // rows)  # n2
        rounding = _UNIT * (12.0 * np.arange(d) + 4 * (rows + columns) + 100)
        # The derivation above is to first order in u; 1e-300 covers what underflows.
        self._rounding = (np.abs(orders[:-1]) * rounding).sum(axis=1) + 1e-300
        self._remainder = float(np.abs(orders[-1]).sum()) * (1 + 1e-9)
        padded = np.zeros((_ORDERS, columns * rows))
        padded[:, :d] = orders[:-1]
        # entry [j, r, c] multiplies w^(r + n1 c)
        blocks = padded.reshape(_ORDERS, columns, rows).transpose(0, 2, 1)
        self._blocks = np.ascontiguousarray(blocks.reshape(_ORDERS * rows, columns))
        self._rows, self._columns = rows, columns

    @staticmethod
    def _choose_grid(terms: Floats) -> int:
        """Cells on the half circle: enough that the remainder is small beside a_0 ~ |g|."""
        s = np.arange(len(terms))
        with np.errstate(all="ignore"):
            bounded = np.abs(terms * (math.pi * s) ** _ORDERS).sum() / math.factorial(_ORDERS)
            wanted = float((bounded / (0.05 * abs(terms[0]))) ** (1 / _ORDERS) / 2)
        if not math.isfinite(wanted):
            raise OverflowError("a derivative of G, beside V_0, is beyond double precision")
        return int(np.clip(2 ** math.ceil(math.log2(max(wanted, 1.0))), 64, _MAX_GRID))

    @property
    def rounding_bounds(self) -> Floats:
        """[m] bounds on |computed - exact| for the sums of each order on the circle."""
        return self._rounding

    @property
    def remainder(self) -> float:
        """A bound on max |g^(m)| t^m / m!, what the m orders leave out over a grid cell."""
        return self._remainder

    @property
    def half_cell(self) -> float:
        """t, in radians."""
        return math.pi / (2 * self.grid_cells)

    def grid(self) -> Covering:
        """The coarse cells x = 0, 1/N, ..., 1, whether they pass or not."""
        n = self.grid_cells
        return self._cover(np.arange(n + 1) / n, 0, self._evaluate_grid())

    def halve(self, centres: Floats, halvings: int) -> Covering:
        """The halves of the given cells; `halvings` counts from the grid, after halving."""
        quarter = 0.5**halvings / (2 * self.grid_cells)
        halves = np.concatenate([centres - quarter, centres + quarter])
        halves = halves[(halves > 0) & (halves < 1)]
        with working(64):
            points = np.array([_rounded(acb(arb(x)).exp_pi_i()) for x in halves])
        return self._cover(halves, halvings, self.evaluate(points))

    def _cover(self, centres: Floats, halvings: int, values: Complexes) -> Covering:
        shrink = 0.5 ** (halvings * np.arange(_ORDERS))
        taylor = values * shrink[:, None]
        size = np.abs(taylor)
        variation = (
            size[1:].sum(axis=0)
            + float((self._rounding * shrink).sum())
            + self._remainder * 0.5 ** (halvings * _ORDERS)
        )
        # |.|, the sums and the quotient are themselves rounded, by far less than 1e-9 relative.
        with np.errstate(over="ignore"):  # infinite: nothing is known around a root
            fill = variation * (1 + 1e-9) / np.maximum(size[0], 1e-300)
        half_widths = np.full(len(centres), 0.5**halvings / (2 * self.grid_cells))
        return Covering(centres, half_widths, taylor, fill)

    def _evaluate_grid(self) -> Complexes:
        """`evaluate` at e^{i pi k / N}, k = 0 ... N, in two matrix products."""
        n, rows = self.grid_cells, self._rows
        period = 2 * n // rows  # P
        half_circle = _grid_points(n)[:n]
        circle = np.concatenate([half_circle, -half_circle])  # e^{i pi k / N}, k = 0 ... 2N-1
        k1, r = np.arange(period), np.arange(rows)
        inner = real_times(
            self._blocks, circle[rows * (np.outer(np.arange(self._columns), k1) % period)]
        )
        twisted = inner.reshape(_ORDERS, rows, period) * circle[np.outer(r, k1)]
        outer = circle[period * (np.outer(np.arange(rows // 2 + 1), r) % rows)]
        sums = product(outer, twisted.transpose(1, 0, 2).reshape(rows, _ORDERS * period))
        # [k2, j, k1] -> [j, k1 + P k2]
        values = sums.reshape(len(outer), _ORDERS, period).transpose(1, 0, 2).reshape(_ORDERS, -1)
        return values[:, : n + 1]

    def evaluate(self, points: Complexes, *, chunk: int = 512) -> Complexes:
        """[m, n] sums over s of a_s (s t)^j / j! w^s, j = 0 ... m-1, t = half a grid cell.

        In two levels of about sqrt(d) terms. The points w are of any modulus; the rounding bound
        holds for those on the unit circle.
        """
        out = np.empty((_ORDERS, len(points)), dtype=np.complex128)
        for start in range(0, len(points), chunk):
            w = points[start : start + chunk]
            low = _powers(w, self._rows)
            high = _powers(low[-1] * w, self._columns)
            inner = real_times(self._blocks, high).reshape(_ORDERS, self._rows, len(w))
            out[:, start : start + chunk] = (inner * low).sum(axis=1)
        return out


def count_outside(
    coefficients: Sequence[int], *, inverse_radius: float = 1.0
) -> WindingCertificate | None:
    """Roots of F(z) = sum of V_s z^{d-1-s} with |z| > 1 / inverse_radius, certified.

    Args:
        coefficients: [d] integers V_s, V_0 != 0, any common scale.
        inverse_radius: R > 0; taken as the exact value of the float.

    Returns:
        The certificate, or None when it did not close: a root on the circle, or so near it (about
        1e-12 relative) that double precision cannot tell, or V_s R^s beyond its range.

    Source: argument principle on Congestion, equation (10).
    """
    try:
        series = Series(coefficients, inverse_radius)
    except OverflowError:
        return None
    return close_certificate(series, series.grid())


def close_certificate(
    series: Series, grid: Covering, *, most_work: int = _MOST_WORK
) -> WindingCertificate | None:
    """Halve the cells of `grid` that do not pass until all do, and count the turns.

    Args:
        most_work: above `HIGH_DEGREE`, cells to make by halving, times coefficients, at most.

    Returns:
        The certificate, or None where it took too many cells, or too small ones.
    """
    passing = grid.fill <= _FILL
    levels = [_select(grid, passing)]
    failing = grid.centres[~passing]
    cells = len(grid.centres)
    most = _MAX_CELLS
    if series.degree > HIGH_DEGREE:
        most = min(most, cells + most_work // series.degree)
    halvings = 0
    while failing.size:
        halvings += 1
        cells += 2 * failing.size
        if halvings > _MAX_HALVINGS or cells > most:
            return None
        level = series.halve(failing, halvings)
        passing = level.fill <= _FILL
        levels.append(_select(level, passing))
        failing = level.centres[~passing]
    covering = _in_order(levels)
    values = covering.taylor[0]
    start = float(np.angle(values[0]))
    # a quotient: the product with the conjugate would leave the range of doubles beyond 1e+-154
    end = start + float(np.angle(values[1:] / values[:-1]).sum())
    # The end cells reach theta = 0 and pi, where G is real and its argument a multiple of pi: the
    # nearest to the argument at the cell's centre, which is off by less than asin(0.9), 65 degrees.
    return WindingCertificate(
        radius=1 / Fraction(series.inverse_radius),
        outside=round(end / math.pi) - round(start / math.pi),
        covering=covering,
    )


def _select(covering: Covering, keep: NDArray[np.bool_]) -> Covering:
    return Covering(
        covering.centres[keep],
        covering.half_widths[keep],
        covering.taylor[:, keep],
        covering.fill[keep],
    )


def _in_order(levels: list[Covering]) -> Covering:
    centres = np.concatenate([c.centres for c in levels])
    order = np.argsort(centres)
    return Covering(
        centres[order],
        np.concatenate([c.half_widths for c in levels])[order],
        np.concatenate([c.taylor for c in levels], axis=1)[:, order],
        np.concatenate([c.fill for c in levels])[order],
    )


def _grid_points(n: int) -> Complexes:
    """e^{i pi k / n} for k = 0 ... n, each the product of two points rounded from balls."""
    step = 1 << (n.bit_length() // 2)
    with working(64):
        fine = np.array([_rounded(acb(arb(k) / n).exp_pi_i()) for k in range(step)])
        coarse = np.array([_rounded(acb(arb(k) / n).exp_pi_i()) for k in range(0, n + 1, step)])
    return (coarse[:, None] * fine[None, :]).ravel()[: n + 1]


def _rounded(point: acb) -> complex:
    return complex(float(point.real), float(point.imag))


@overload
def _powers(base: Floats, count: int) -> Floats: ...
@overload
def _powers(base: Complexes, count: int) -> Complexes: ...
def _powers(base: NDArray[Any], count: int) -> NDArray[Any]:
    """[count, n] base^0 ... base^(count-1), by doubling: s - 1 products for the s-th power."""
    powers = np.empty((count, len(base)), dtype=base.dtype)
    powers[0] = 1
    filled = 1
    top = base
    while filled < count:
        more = min(filled, count - filled)
        powers[filled : filled + more] = powers[:more] * top
        filled += more
        top = top * top
    return powers
