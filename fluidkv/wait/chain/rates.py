"""Arrivals whose rate changes by a common factor (`RateSteps`), inside a compiled loop.

Time is measured by Lambda(t), the integral of the factor: in Lambda, arrivals are Poisson at the
constant rates.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from fluidkv.runs.rates import RateSteps


class Pieces(NamedTuple):
    """Of each piece: when it begins, its factor, Lambda and the integral of Lambda at its begin."""

    time: Float[Array, " piece"]
    factor: Float[Array, " piece"]
    elapsed: Float[Array, " piece"]
    area: Float[Array, " piece"]


def pieces(steps: RateSteps) -> Pieces:
    """As arrays."""
    time, factor = np.array(steps.times), np.array(steps.factors)
    length = np.diff(time)
    elapsed = np.concatenate([[0.0], np.cumsum(factor[:-1] * length)])
    area = np.concatenate([[0.0], np.cumsum((elapsed[:-1] + factor[:-1] * length / 2) * length)])
    return Pieces(*(jnp.asarray(column) for column in (time, factor, elapsed, area)))


def elapsed(of: Pieces, begin: Float[Array, " run"], end: Float[Array, " run"]) -> Array:
    """Lambda(end) - Lambda(begin); exact within a piece."""
    a, b = _piece(of.time, begin), _piece(of.time, end)
    across = _at(of, b, end) - _at(of, a, begin)
    return jnp.where(a == b, of.factor[a] * (end - begin), across)


def after(of: Pieces, begin: Float[Array, " run"], units: Float[Array, " run"]) -> Array:
    """The time at which Lambda has grown by `units` since `begin`."""
    a = _piece(of.time, begin)
    goal = _at(of, a, begin) + units
    b = _piece(of.elapsed, goal)
    across = of.time[b] + (goal - of.elapsed[b]) / of.factor[b]
    return jnp.where(a == b, begin + units / of.factor[a], across)


def mean_rest(of: Pieces, begin: Float[Array, " run"], end: Float[Array, " run"]) -> Array:
    """How long before `end` an arrival between the two comes, on average."""
    a, b = _piece(of.time, begin), _piece(of.time, end)
    width, units = end - begin, elapsed(of, begin, end)
    under = _area(of, b, end) - _area(of, a, begin) - _at(of, a, begin) * width
    return jnp.where((a == b) | (units <= 0), width / 2, under / jnp.where(units > 0, units, 1.0))


def _piece(starts: Float[Array, " piece"], at: Float[Array, " run"]) -> Int[Array, " run"]:
    return jnp.sum(starts[:, None] <= at[None, :], axis=0, dtype=jnp.int32) - 1


def _at(of: Pieces, piece: Int[Array, " run"], time: Float[Array, " run"]) -> Array:
    return of.elapsed[piece] + of.factor[piece] * (time - of.time[piece])


def _area(of: Pieces, piece: Int[Array, " run"], time: Float[Array, " run"]) -> Array:
    into = time - of.time[piece]
    return of.area[piece] + of.elapsed[piece] * into + of.factor[piece] * into**2 / 2
