"""Counts and times drawn inside a compiled loop, in float64 and whole numbers, of any shape.

`Words` of a place are those of `fluidkv.runs.words`. Arrays of tables, keys and counts may have
further axes of runs, which come last.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax
from jax.scipy.special import gammaln
from jaxtyping import Array, Bool, Float, Int, UInt64

from fluidkv.runs.words import Words, uniform, whole
from fluidkv.wait.chain.alias import UNIT_BITS

_STEPS = 8  # of a search between two looks at whether all have found


def look_up(
    cells: UInt64[Array, " cell"],
    first: Int[Array, "*run"],
    bits: Int[Array, "*run"],
    table: Int[Array, "place ..."],
    word: Words,
) -> Int[Array, "place ..."]:
    """A draw from `table`, its number among those of its run, by a word; see `alias`.

    Args:
        cells: flat, of all runs.
        first, bits: where the tables of a run begin, and that each has 2^bits cells.
        table, word: of each place and run.
    """
    column = (word.high >> (32 - bits[None]).astype(jnp.uint32)).astype(jnp.int32)
    place = first[None] + (table << bits[None]) + column
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

    def step(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        count, below, mass = carry
        for _ in range(_STEPS):
            on = (below < u) & (count < last)
            count = jnp.where(on, count + 1, count)
            mass = jnp.where(on, mass * mean / count, mass)
            below = jnp.where(on, below + mass, below)
        return count, below, mass

    def going(carry: tuple[Array, ...]) -> Bool[Array, ""]:
        return jnp.any((carry[1] < u) & (carry[0] < last))

    count, _, _ = lax.while_loop(going, step, (first, mass, mass))
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
