"""Predictors that expect of a token what it has had: the last row, or an average over rows."""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from fluidkv.errors import InputError
from fluidkv.runs.checks import real
from fluidkv.tokenpd.returns.known import Told
from fluidkv.tokenpd.seen import Seen


@dataclass(frozen=True)
class LastSeen:
    """What the last row gave. It knows no variance and says 0.

    Examples:
        >>> from fluidkv.tokenpd import generated, generators
        >>> from fluidkv.tokenpd.returns.averages import LastSeen
        >>> from fluidkv.tokenpd.returns.errors import prediction_errors
        >>> attention = generated(generators()["mixed"], 0, requests=2, prompt=16, length=64)
        >>> round(prediction_errors(LastSeen(), attention).missed, 2)  # 1: as a constant
        0.62
    """

    def begin(self, streams: int, keys: int) -> None:
        """See `Predictor`."""

    def observe(self, state: None, seen: Seen) -> None:
        """See `Predictor`."""

    def predict(self, state: None, seen: Seen) -> Told:
        """See `Predictor`."""
        return seen.weights, jnp.zeros_like(seen.weights)


class Average(NamedTuple):
    """Of each key: mean and variance so far; after n rows, 1 - (1 - rate)^n, what these count."""

    mean: Float[Array, "stream key"]
    spread: Float[Array, "stream key"]
    counted: Float[Array, "stream key"]


@dataclass(frozen=True)
class ExponentialAverage:
    """The last row counts 1, the one before 1 - rate, the one before that (1 - rate)^2, and so on,
    over the sum of these. The variance is that of the rows so weighted.

    Args:
        rate: above 0, at most 1; 1 is `LastSeen`.

    Raises:
        InputError: outside that.

    Examples:
        >>> from fluidkv.tokenpd import ExponentialAverage
        >>> from fluidkv.tokenpd.seen import Seen
        >>> row, one = np.array([[0.75, 0.25]]), np.array([1])
        >>> first = Seen(row, row > 0, query=one, round=one, prompt=one, future=row, spread=row)
        >>> mean = ExponentialAverage(rate=0.5)
        >>> state = mean.observe(mean.begin(1, 2), first)
        >>> state = mean.observe(state, first._replace(weights=np.array([[0.0, 1.0]])))
        >>> np.round(mean.predict(state, first)[0], 2).tolist()  # the last row counts twice as much
        [[0.25, 0.75]]
    """

    rate: float = 0.125

    def __post_init__(self) -> None:
        if not 0 < real(self.rate) <= 1:
            raise InputError("rate", self.rate, "a number above 0 and at most 1")

    def begin(self, streams: int, keys: int) -> Average:
        """See `Predictor`."""
        zero = jnp.zeros((streams, keys))
        return Average(zero, zero, zero)

    def observe(self, state: Average, seen: Seen) -> Average:
        """See `Predictor`."""
        counted = (1 - self.rate) * state.counted + self.rate
        part = self.rate / counted
        off = seen.weights - state.mean
        mean = (1 - part) * state.mean + part * seen.weights
        spread = (1 - part) * (state.spread + part * off**2)
        return Average(
            jnp.where(seen.there, mean, state.mean),
            jnp.where(seen.there, spread, state.spread),
            jnp.where(seen.there, counted, state.counted),
        )

    def predict(self, state: Average, seen: Seen) -> Told:
        """See `Predictor`."""
        return state.mean, state.spread


class Sums(NamedTuple):
    """Of each key, over rows in which it was there: how many, its weights and their squares."""

    rows: Float[Array, "stream key"]
    weights: Float[Array, "stream key"]
    squares: Float[Array, "stream key"]


@dataclass(frozen=True)
class AccumulatedMean:
    """What H2O accumulates, over the number of rows in which the token was there.

    Examples:
        >>> from fluidkv.tokenpd.returns.averages import AccumulatedMean
        >>> from fluidkv.tokenpd.seen import Seen
        >>> row, one = np.array([[0.5, 0.5]]), np.array([1])
        >>> first = Seen(row, row > 0, query=one, round=one, prompt=one, future=row, spread=row)
        >>> mean = AccumulatedMean()
        >>> state = mean.observe(mean.begin(1, 2), first)
        >>> state = mean.observe(state, first._replace(weights=np.array([[0.75, 0.25]])))
        >>> np.asarray(mean.predict(state, first)).tolist()  # mean and variance
        [[[0.625, 0.375]], [[0.015625, 0.015625]]]
    """

    def begin(self, streams: int, keys: int) -> Sums:
        """See `Predictor`."""
        zero = jnp.zeros((streams, keys))
        return Sums(zero, zero, zero)

    def observe(self, state: Sums, seen: Seen) -> Sums:
        """See `Predictor`."""
        given = jnp.where(seen.there, seen.weights, 0.0)
        return Sums(
            state.rows + seen.there.astype(given.dtype),
            state.weights + given,
            state.squares + given**2,
        )

    def predict(self, state: Sums, seen: Seen) -> Told:
        """See `Predictor`."""
        rows = jnp.maximum(state.rows, 1.0)
        mean = state.weights / rows
        return mean, jnp.maximum(state.squares / rows - mean**2, 0.0)
