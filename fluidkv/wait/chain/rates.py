"""Arrivals whose rate changes by a common factor (`RateSteps`), inside a compiled loop.

Time is measured by Lambda(t), the integral of the factor: in Lambda, arrivals are Poisson at the
constant rates. Constant rates are `None` here: then Lambda is time, and nothing is looked up.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from fluidkv.runs.rates import RateSteps

Times = Float[Array, "*run"]


class Pieces(eqx.Module):
    """Of each piece: when it begins, its factor, Lambda and the integral of Lambda at its begin."""

    time: Float[Array | np.ndarray, " piece"]
    factor: Float[Array | np.ndarray, " piece"]
    elapsed: Float[Array | np.ndarray, " piece"]
    area: Float[Array | np.ndarray, " piece"]


def pieces_of(steps: RateSteps | None) -> Pieces | None:
    """As arrays."""
    if steps is None:
        return None
    time, factor = np.array(steps.times), np.array(steps.factors)
    length = np.diff(time)
    elapsed = np.concatenate([[0.0], np.cumsum(factor[:-1] * length)])
    area = np.concatenate([[0.0], np.cumsum((elapsed[:-1] + factor[:-1] * length / 2) * length)])
    return Pieces(time, factor, elapsed, area)


def elapsed(pieces: Pieces | None, begin: Times, width: Times) -> Times:
    """By how much Lambda grows from `begin` on in a time; exact within a piece."""
    if pieces is None:
        return width
    end = begin + width
    a, b = _piece(pieces.time, begin), _piece(pieces.time, end)
    across = _lambda(pieces, b, end) - _lambda(pieces, a, begin)
    return jnp.where(a == b, _of(pieces.factor, a) * (end - begin), across)


def lasting(pieces: Pieces | None, begin: Times, units: Times) -> Times:
    """The time in which Lambda grows by `units` from `begin` on."""
    if pieces is None:
        return units
    a = _piece(pieces.time, begin)
    goal = _lambda(pieces, a, begin) + units
    b = _piece(pieces.elapsed, goal)
    across = _of(pieces.time, b) + (goal - _of(pieces.elapsed, b)) / _of(pieces.factor, b)
    return jnp.where(a == b, begin + units / _of(pieces.factor, a), across) - begin


def mean_rest(pieces: Pieces | None, begin: Times, width: Times) -> Times:
    """How long before the end of a time an arrival in it comes, on average."""
    if pieces is None:
        return width / 2
    end = begin + width
    a, b = _piece(pieces.time, begin), _piece(pieces.time, end)
    width, units = end - begin, elapsed(pieces, begin, width)
    under = _area(pieces, b, end) - _area(pieces, a, begin) - _lambda(pieces, a, begin) * width
    return jnp.where((a == b) | (units <= 0), width / 2, under / jnp.where(units > 0, units, 1.0))


def _piece(starts: Float[Array | np.ndarray, " piece"], at: Times) -> Int[Array, "*run"]:
    """The piece at a time, or at a Lambda."""
    began = jnp.asarray(starts).reshape(-1, *(1,) * at.ndim) <= at[None]
    return jnp.sum(began, axis=0, dtype=jnp.int32) - 1


def _of(values: Float[Array | np.ndarray, " piece"], piece: Int[Array, "*run"]) -> Times:
    return jnp.asarray(values)[piece]


def _lambda(pieces: Pieces, piece: Int[Array, "*run"], time: Times) -> Times:
    into = time - _of(pieces.time, piece)
    return _of(pieces.elapsed, piece) + _of(pieces.factor, piece) * into


def _area(pieces: Pieces, piece: Int[Array, "*run"], time: Times) -> Times:
    into = time - _of(pieces.time, piece)
    linear = _of(pieces.elapsed, piece) * into
    return _of(pieces.area, piece) + linear + _of(pieces.factor, piece) * into**2 / 2
