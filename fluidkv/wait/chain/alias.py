"""Tables to draw counts from with one look: Walker's alias method, in whole numbers.

A table has C = 2^c columns of 2^48 units each. A random word picks a column by its first c bits and
a unit by its last 48: below the column's threshold the outcome is the column, else its alias. So
each outcome has a whole number of the 2^(48 + c) units, and `law` counts them: a table's law is
known exactly, and differs from the law that it stands for by less than one unit an outcome but the
likeliest, which takes up what rounding down left over.
"""

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb, isqrt

import numpy as np
from jaxtyping import UInt64

UNIT_BITS = 48  # of a threshold; the 16 others of a cell hold the alias
MOST_COLUMNS = 2**16


def binomial_units(n: int, p: Fraction, bits: int) -> list[int]:
    """Units out of 2^bits of each outcome 0..n of Binomial(n, p)."""
    yes, every = p.numerator, p.denominator
    whole = every**n
    return _rounded(
        [((comb(n, k) * yes**k * (every - yes) ** (n - k)) << bits) // whole for k in range(n + 1)],
        bits,
    )


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
    found = []
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(mean)
        mass, scale = (-exact).exp(), Decimal(2**bits)
        for k in range(first + size):
            if k >= first:
                found.append(int(mass * scale))
            mass *= exact / (k + 1)
    return _rounded(found, bits)


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


def _rounded(units: list[int], bits: int) -> list[int]:
    likeliest = max(range(len(units)), key=units.__getitem__)
    units[likeliest] += (1 << bits) - sum(units)
    return units
