"""Counts and times drawn inside a compiled loop, from words by counter (`fluidkv.runs.words`).

Counts whose law is known beforehand are drawn with one look into a table: Walker's alias method, in
whole numbers. A table has C = 2^c columns of 2^48 units each. A random word picks a column by its
first c bits and a unit by its last 48: below the column's threshold the outcome is the column, else
its alias. So each outcome has a whole number of the 2^(48 + c) units: a table's law is known
exactly, and differs from the law that it stands for by less than one unit an outcome but the
likeliest, which takes up what rounding down left over.

Arrays of tables, keys and counts may have further axes of runs, which come last.
"""

from collections.abc import Callable, Iterable, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import isqrt
from operator import mul

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import gammaln
from jaxtyping import Array, Bool, Float, Int, UInt64

from fluidkv.runs.words import Words, uniform, whole

UNIT_BITS = 48  # of a threshold; the 16 others of a cell hold the alias
MOST_COLUMNS = 2**16

_DIGITS = 60
"""Of masses: 2^16 products round off 1e-54 of a mass, 1e-34 of a unit of the finest tables."""
_STEPS = 8  # of a search between two looks at whether all have found


# ----------------------------------------------------------------------------------------- tables


@lru_cache(2**12)  # of a sweep: many chains have the same tables
def table(
    law: Callable[..., list[int]], *parameters: float | Fraction, columns: int
) -> UInt64[np.ndarray, " column"]:
    """The table of `binomial_units` or `poisson_units`, from its first outcome on."""
    return cells(law(*parameters, UNIT_BITS + columns.bit_length() - 1), columns)


def binomial_units(n: int, p: Fraction, bits: int) -> list[int]:
    """Units out of 2^bits of each outcome 0..n of Binomial(n, p)."""
    mode = min(n, int((n + 1) * p))
    with localcontext(Context(prec=_DIGITS)):
        odds = Decimal(0)  # with p = 1, no outcome below n
        if p < 1:
            odds = Decimal((p / (1 - p)).numerator) / Decimal((p / (1 - p)).denominator)
        above = (odds * (n - k) / (k + 1) for k in range(mode, n))
        below = (k / odds / (n - k + 1) if odds else odds for k in range(mode, 0, -1))
        return _units(above, below, bits)


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
    with localcontext(Context(prec=_DIGITS)):
        exact, mode = Decimal(mean), int(mean)
        above = (exact / (k + 1) for k in range(mode, first + size - 1))
        below = (k / exact for k in range(mode, first, -1))
        return _units(above, below, bits)


def columns_for(outcomes: int) -> int:
    """C: the power of two that holds so many outcomes."""
    return 1 << max(1, (outcomes - 1).bit_length())


def cells(units: Sequence[int], columns: int) -> UInt64[np.ndarray, " column"]:
    """The table of these units, out of 2^48 for each column: threshold << 16 | alias."""
    room = 1 << UNIT_BITS
    left = [*units, *[0] * (columns - len(units))]
    pairs = [(0, column) for column in range(columns)]  # always itself
    small = [column for column in range(columns) if left[column] < room]
    large = [column for column in range(columns) if left[column] > room]
    while small:
        poor, rich = small.pop(), large[-1]
        pairs[poor] = (left[poor], rich)
        left[rich] -= room - left[poor]
        if left[rich] <= room:
            large.pop()
            if left[rich] < room:
                small.append(rich)
    return np.array([(threshold << 16) | alias for threshold, alias in pairs], np.uint64)


def _units(above: Iterable[Decimal], below: Iterable[Decimal], bits: int) -> list[int]:
    """Of all outcomes, rounded down; the likeliest takes up what is left.

    Args:
        above, below: the mass of each outcome over that of its neighbour towards the mode, away
            from it. The mode has mass 1: none is larger, and what underflows is 0. The last digit
            of a ratio may turn a unit, and then every run draws other numbers: ratios of both
            sides are computed as they stand, not one as the inverse of the other.
    """
    masses = [*reversed([*accumulate(below, mul)]), Decimal(1), *accumulate(above, mul)]
    scale = Decimal(2**bits) / sum(masses)
    units = [int(mass * scale) for mass in masses]
    left = (1 << bits) - sum(units)
    assert 0 <= left <= len(units), left
    units[max(range(len(units)), key=units.__getitem__)] += left
    return units


# --------------------------------------------------------------------------------- in the loop


def look_up(
    cells: UInt64[Array, " cell"],
    first: Int[Array, "*run"],
    bits: Int[Array, "*run"],
    number: Int[Array, "place ..."],
    word: Words,
) -> Int[Array, "place ..."]:
    """A draw by a word from a table.

    Args:
        cells: flat, of all tables of all runs.
        first, bits: where the tables of a run begin, and that each has 2^bits cells.
        number: of the table among those of its run, of each place and run.
    """
    column = (word.high >> (32 - bits[None]).astype(jnp.uint32)).astype(jnp.int32)
    place = first[None] + (number << bits[None]) + column
    cell = lax.optimization_barrier(cells.at[place].get(mode="promise_in_bounds"))
    unit = whole(word) & jnp.uint64((1 << UNIT_BITS) - 1)
    alias = (cell & jnp.uint64(0xFFFF)).astype(jnp.int32)
    return jnp.where(unit < cell >> jnp.uint64(16), column, alias)


def poisson(mean: Float[Array, "*place"], u: Float[Array, "*place"]) -> Int[Array, "*place"]:
    """Poisson counts of any means: the smallest k with P(count <= k) >= u.

    Searches upward from where less than 2^-53 lies below (Chernoff: 9 standard deviations).
    """
    first = jnp.maximum(jnp.floor(mean - 9 * jnp.sqrt(mean)), 0.0)
    log_mean = jnp.log(jnp.maximum(mean, 1e-300))  # a mean of 0: mass 1 at 0, and none is added
    mass = jnp.exp(first * log_mean - mean - gammaln(first + 1))
    last = mean + 11 * jnp.sqrt(mean) + 40  # rounding of `mass` could leave u out of reach

    def goes_on(count: Array, below: Array) -> Bool[Array, "*place"]:
        return (below < u) & (count < last)

    def search(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        count, below, mass = carry
        for _ in range(_STEPS):
            on = goes_on(count, below)
            count = jnp.where(on, count + 1, count)
            mass = jnp.where(on, mass * mean / count, mass)
            below = jnp.where(on, below + mass, below)
        return count, below, mass

    start = (first, mass, mass)
    count, _, _ = lax.while_loop(lambda carry: jnp.any(goes_on(*carry[:2])), search, start)
    return count.astype(jnp.int32)


def gamma(
    shape: Float[Array, "*run"], words: Callable[[Array, int], Words], first: int
) -> Float[Array, "*run"]:
    """Gamma variates of shapes of at least 1; 0 where the shape is 0.

    Args:
        shape: how many exponential gaps are summed.
        words: (first place, places) -> as many words a run.
        first: the place of the first word; later ones follow.

    Source: G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", 2000.
    """
    d = jnp.maximum(shape, 1.0) - 1 / 3
    c = 1 / jnp.sqrt(9 * d)

    def attempt(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        value, missing, place = carry
        u = uniform(words(place, 3))
        normal = jnp.sqrt(-2 * jnp.log(u[0])) * jnp.cos(2 * jnp.pi * u[1])
        v = (1 + c * normal) ** 3
        positive = jnp.where(v > 0, v, 1.0)
        fits = jnp.log(u[2]) < normal**2 / 2 + d - d * positive + d * jnp.log(positive)
        accepted = missing & (v > 0) & fits
        return jnp.where(accepted, d * v, value), missing & ~accepted, place + jnp.uint32(3)

    start = (jnp.zeros_like(shape), shape > 0, jnp.uint32(first))
    value, _, _ = lax.while_loop(lambda carry: jnp.any(carry[1]), attempt, start)
    return value
