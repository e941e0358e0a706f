"""Tables to draw counts from with one look: Walker's alias method, in whole numbers.

A table has C = 2^c columns of 2^48 units each. A random word picks a column by its first c bits and
a unit by its last 48: below the column's threshold the outcome is the column, else its alias. So
each outcome has a whole number of the 2^(48 + c) units, and `law` counts them: a table's law is
known exactly, and differs from the law that it stands for by less than one unit an outcome but the
likeliest, which takes up what rounding down left over.
"""

from collections.abc import Iterable, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import isqrt
from operator import mul

import numpy as np
from jaxtyping import UInt64

UNIT_BITS = 48  # of a threshold; the 16 others of a cell hold the alias
MOST_COLUMNS = 2**16

_DIGITS = 60
"""Of masses: 2^16 products round off 1e-54 of a mass, 1e-34 of a unit of the finest tables."""


def binomial_units(n: int, p: Fraction, bits: int) -> list[int]:
    """Units out of 2^bits of each outcome 0..n of Binomial(n, p)."""
    mode = min(n, int((n + 1) * p))
    with localcontext(Context(prec=_DIGITS)):
        odds = _decimal(p / (1 - p)) if p < 1 else Decimal(0)  # with p = 1, no outcome above n
        above = _products(odds * (n - k) / (k + 1) for k in range(mode, n))
        below = _products(k / odds / (n - k + 1) if odds else odds for k in range(mode, 0, -1))
        return _units([*reversed(below), Decimal(1), *above], bits)


def poisson_window(mean: float) -> tuple[int, int]:
    """First outcome and number of outcomes beyond which a Poisson count has less than 2^-64.

    Chernoff: below mean - x and above mean + x it has at most exp(-x^2 / (2 (mean + x / 3))), which
    is below 2^-65 for x = 10 sqrt(mean) + 31 at every mean.
    """
    reach = 10 * (isqrt(int(mean)) + 1) + 31
    first = max(0, int(mean) - reach)
    return first, int(mean) + reach + 1 - first


def poisson_units(mean: float, bits: int) -> list[int]:
    """Units out of 2^bits of each outcome of `poisson_window`."""
    first, size = poisson_window(mean)
    mode = int(mean)
    with localcontext(Context(prec=_DIGITS)):
        exact = Decimal(mean)
        above = _products(exact / (k + 1) for k in range(mode, first + size - 1))
        below = _products(k / exact for k in range(mode, first, -1))
        return _units([*reversed(below), Decimal(1), *above], bits)


@lru_cache(2**12)  # of a sweep: many chains have the same tables
def binomial_table(n: int, p: Fraction, columns: int) -> UInt64[np.ndarray, " column"]:
    """Of who goes on, each of n with probability p."""
    return cells(binomial_units(n, p, UNIT_BITS + columns.bit_length() - 1), columns)


@lru_cache(2**12)
def poisson_table(mean: float, columns: int) -> UInt64[np.ndarray, " column"]:
    """Of arrivals, counted from the first outcome of `poisson_window`."""
    return cells(poisson_units(mean, UNIT_BITS + columns.bit_length() - 1), columns)


def columns_for(outcomes: int) -> int:
    """C: the power of two that holds so many outcomes."""
    return 1 << max(1, (outcomes - 1).bit_length())


def cells(units: Sequence[int], columns: int) -> UInt64[np.ndarray, " column"]:
    """The table of these units, out of 2^48 for each column: threshold << 16 | alias."""
    room = 1 << UNIT_BITS
    left = [*units, *[0] * (columns - len(units))]
    table = [(0, column) for column in range(columns)]  # always itself
    small = [column for column in range(columns) if left[column] < room]
    large = [column for column in range(columns) if left[column] > room]
    while small:
        poor, rich = small.pop(), large[-1]
        table[poor] = (left[poor], rich)
        left[rich] -= room - left[poor]
        if left[rich] <= room:
            large.pop()
            if left[rich] < room:
                small.append(rich)
    return np.array([(threshold << 16) | alias for threshold, alias in table], np.uint64)


def law(table: UInt64[np.ndarray, " column"]) -> list[int]:
    """Units of each outcome of a table, counted."""
    units = [0] * len(table)
    for column, cell in enumerate(table.tolist()):
        threshold, alias = cell >> 16, cell & 0xFFFF
        units[column] += threshold
        units[alias] += (1 << UNIT_BITS) - threshold
    return units


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _products(ratios: Iterable[Decimal]) -> list[Decimal]:
    """Masses away from the mode, whose mass is 1: none is larger, and what underflows is 0."""
    return list(accumulate(ratios, mul))


def _units(masses: list[Decimal], bits: int) -> list[int]:
    """In proportion to the masses, rounded down; the likeliest outcome takes up what is left."""
    scale = Decimal(2**bits) / sum(masses)
    units = [int(mass * scale) for mass in masses]
    left = (1 << bits) - sum(units)
    assert 0 <= left <= len(units), left
    units[max(range(len(units)), key=units.__getitem__)] += left
    return units
