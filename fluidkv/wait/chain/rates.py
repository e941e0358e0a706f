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


def pieces(steps: RateSteps | None) -> Pieces | None:
    """As arrays."""
    if steps is None:
        return None
    time, factor = np.array(steps.times), np.array(steps.factors)
    length = np.diff(time)
    elapsed = np.concatenate([[0.0], np.cumsum(factor[:-1] * length)])
    area = np.concatenate([[0.0], np.cumsum((elapsed[:-1] + factor[:-1] * length / 2) * length)])
    return Pieces(time, factor, elapsed, area)


def elapsed(of: Pieces | None, begin: Times, width: Times) -> Times:
    """By how much Lambda grows from `begin` on in a time; exact within a piece."""
    if of is None:
        return width
    end = begin + width
    a, b = _piece(of.time, begin), _piece(of.time, end)
    across = _at(of, b, end) - _at(of, a, begin)
    return jnp.where(a == b, _of(of.factor, a) * (end - begin), across)


def lasting(of: Pieces | None, begin: Times, units: Times) -> Times:
    """The time in which Lambda grows by `units` from `begin` on."""
    if of is None:
        return units
    a = _piece(of.time, begin)
    goal = _at(of, a, begin) + units
    b = _piece(of.elapsed, goal)
    across = _of(of.time, b) + (goal - _of(of.elapsed, b)) / _of(of.factor, b)
    return jnp.where(a == b, begin + units / _of(of.factor, a), across) - begin


def mean_rest(of: Pieces | None, begin: Times, width: Times) -> Times:
    """How long before the end of a time an arrival in it comes, on average."""
    if of is None:
        return width / 2
    end = begin + width
    a, b = _piece(of.time, begin), _piece(of.time, end)
    width, units = end - begin, elapsed(of, begin, width)
    under = _area(of, b, end) - _area(of, a, begin) - _at(of, a, begin) * width
    return jnp.where((a == b) | (units <= 0), width / 2, under / jnp.where(units > 0, units, 1.0))


def _piece(starts: Float[Array | np.ndarray, " piece"], at: Times) -> Int[Array, "*run"]:
    began = jnp.asarray(starts).reshape(-1, *(1,) * at.ndim) <= at[None]
    return jnp.sum(began, axis=0, dtype=jnp.int32) - 1


def _of(values: Float[Array | np.ndarray, " piece"], piece: Int[Array, "*run"]) -> Times:
    return jnp.asarray(values)[piece]


def _at(of: Pieces, piece: Int[Array, "*run"], time: Times) -> Times:
    return _of(of.elapsed, piece) + _of(of.factor, piece) * (time - _of(of.time, piece))


def _area(of: Pieces, piece: Int[Array, "*run"], time: Times) -> Times:
    into = time - _of(of.time, piece)
    return _of(of.area, piece) + _of(of.elapsed, piece) * into + _of(of.factor, piece) * into**2 / 2
