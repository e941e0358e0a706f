"""Every zero of h on the upper half circle, by cells that leave no room for another.

The condition for a crossing, h(theta) = Im(C conj A_r) = 0, is a trigonometric polynomial with
zeros off the circle as a rule, so changes of sign cannot be counted against a degree. Instead the
half circle is covered by cells, as a winding number does it (`fluidkv.exact.roots.winding`), and
Taylor's theorem with bounded rounding shows of each cell either that h is not 0 in it, or that h is
strictly monotone in it, so that it holds one zero or none. Cells that show neither are halved.

With theta = theta_0 + s t, t half a cell's width, both factors are polynomials in s of degree m - 1
with computed coefficients c_j and r_j, each in error by at most e_j, and a remainder of at most R,
whose derivative in s is at most m R. Their product gives h = sum of h_j s^j, and for |s| <= 1

    |h - h_0|   <=  sum over j > 0 of |h_j| + E          E = (e + R)_c |r| + (e + R)_r |c|
    |h' - h_1|  <=  sum over j > 1 of j |h_j| + E'       E' = (e' + m R)_c |r| + (e + R)_c |r'|
                                                              + the same with c and r exchanged

with |c|, |r|, |c'|, |r'| bounds over the cell and e, e' the sums of e_j and j e_j.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fluidkv.exact.roots.winding import Complexes, Covering, Floats, Series

_MAX_HALVINGS = 24  # of a grid cell
_MAX_CELLS = 1 << 20
_SLACK = 1 + 1e-9  # the bounds below are themselves rounded, by far less


@dataclass(frozen=True)
class MonotoneCell:
    """Turns (angles over pi) between which h is strictly monotone.

    Fields:
        left, right: exact in floats; the first cell begins below 0, the last ends above 1.
        near: where a zero would be by the slope at the centre; no claim attached.
        positive: Re(C conj A_r) > 0 all over the cell, so that L < 0 at a zero. False says nothing.
    """

    left: float
    near: float
    right: float
    positive: bool


def monotone_cells(
    offset: Sequence[int], slope: Sequence[int], *, turned: int = 0, until: float = 1.0
) -> list[MonotoneCell] | None:
    """Cells in ascending order outside of which h has no zero in [0, pi until].

    Args:
        offset, slope: coefficients of C and A_r, of the highest power first.
        turned: A_r is multiplied by e^{i turned theta}.
        until: the last turn of interest, 1 or 1/2; the end of a cell, or its centre.

    Returns:
        The cells, or None if some cell shows neither property when it is very small: h has a
        double zero there, or nearly.
    """
    try:
        first, second = Series(offset), Series(slope)
        finer = max(first.grid_cells, second.grid_cells) * (2 if turned else 1)
        first = Series(offset, grid_cells=finer)
        second = Series([0] * turned + list(slope), grid_cells=finer)
    except OverflowError:
        return None
    found: list[Floats] = []
    pair = (first.grid(), second.grid())
    halvings, cells = 0, len(pair[0].centres)
    while True:
        monotone, failing, step, positive = _judged(first, second, pair, halvings)
        centres = pair[0].centres
        half = 0.5**halvings / (2 * finer)
        middle = centres[monotone]
        near = middle + half * np.clip(step[monotone], -0.99, 0.99)
        rows = [middle - half, near, middle + half, positive[monotone].astype(np.float64)]
        found.append(np.stack(rows, axis=1))
        if not failing.any():
            break
        halvings += 1
        cells += 2 * int(failing.sum())
        if halvings > _MAX_HALVINGS or cells > _MAX_CELLS:
            return None
        pair = (first.halve(centres[failing], halvings), second.halve(centres[failing], halvings))
    edges = np.concatenate(found)
    edges = edges[np.argsort(edges[:, 0])]
    edges = edges[edges[:, 0] < until]
    return [MonotoneCell(a, x, b, positive=bool(p)) for a, x, b, p in edges.tolist()]


def _judged(
    first: Series, second: Series, pair: tuple[Covering, Covering], halvings: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Floats, NDArray[np.bool_]]:
    """Which cells are monotone; which neither that nor free of zeros; -h_0 / h_1; `positive`."""
    c, r = _Factor.of(first, pair[0], halvings), _Factor.of(second, pair[1], halvings)
    product = _product(c.coefficients, r.coefficients)
    h, real = product.imag, product.real
    size = np.abs(h)
    powers = np.arange(len(h))[:, None]
    # the products and sums that make h_j are rounded too, by a few units of what they add up
    own = 1e-14 * c.value * r.value
    error = c.error * r.value + r.error * c.value + own
    error_slope = (
        c.slope_error * r.value
        + c.error * r.slope
        + r.slope_error * c.value
        + r.error * c.slope
        + len(h) * own
    )
    free = size[0] > (size[1:].sum(axis=0) + error) * _SLACK
    monotone = size[1] > ((powers * size)[2:].sum(axis=0) + error_slope) * _SLACK
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.nan_to_num(-h[0] / h[1])
    positive = real[0] > (np.abs(real[1:]).sum(axis=0) + error) * _SLACK
    return monotone & ~free, ~monotone & ~free, step, positive


@dataclass(frozen=True)
class _Factor:
    """One of the two polynomials over the cells; all bounds hold for |s| <= 1.

    Fields:
        coefficients: [m, n] of s^j.
        value, slope: [n] bounds on the modulus and on that of the derivative in s.
        error, slope_error: bounds on what the coefficients leave out of either.
    """

    coefficients: Complexes
    value: Floats
    slope: Floats
    error: float
    slope_error: float

    @classmethod
    def of(cls, series: Series, covering: Covering, halvings: int) -> "_Factor":
        orders = len(covering.taylor)
        powers = np.arange(orders)
        # taylor holds g^(j) (t / i)^j / j!
        coefficients = covering.taylor * (1j**powers)[:, None]
        rounding = series.rounding_bounds * 0.5 ** (halvings * powers)
        remainder = series.remainder * 0.5 ** (halvings * orders)
        error = float(rounding.sum()) + remainder
        slope_error = float((powers * rounding).sum()) + orders * remainder
        size = np.abs(coefficients)
        return cls(
            coefficients,
            size.sum(axis=0) + error,
            (powers[:, None] * size).sum(axis=0) + slope_error,
            error,
            slope_error,
        )


def _product(c: Complexes, r: Complexes) -> Complexes:
    """Coefficients of s^j in C conj A_r: the sum of c_i conj(r_{j-i}), for j = 0 ... 2 (m - 1)."""
    orders, n = c.shape
    product = np.zeros((2 * orders - 1, n), dtype=np.complex128)
    for i in range(orders):
        for k in range(orders):
            product[i + k] += c[i] * np.conj(r[k])
    return product
