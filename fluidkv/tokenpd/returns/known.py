"""Predictors that look ahead, or not at all: the oracle, the oracle with noise, and a constant."""

from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PRNGKeyArray

from fluidkv.errors import InputError
from fluidkv.runs.checks import above_0, instance, not_negative, real
from fluidkv.tokenpd.seen import Seen

Told = tuple[Float[Array, "stream key"], Float[Array, "stream key"]]
"""Mean and variance of the weights to come."""


class Lasting(Enum):
    """What noise does from round to round. TOKEN: a token has one factor for good.
    ROUND: it has another in each round.

    Examples:
        >>> import jax
        >>> from fluidkv.tokenpd.returns.known import Lasting, NoisyOracle
        >>> from fluidkv.tokenpd.seen import Seen
        >>> row, one = np.array([[0.5, 0.5]]), np.array([1])
        >>> seen = Seen(row, row > 0, query=one, round=one, prompt=one, future=row, spread=row)
        >>> for lasting in Lasting:
        ...     noisy = NoisyOracle(0.1, lasting=lasting, key=jax.random.key(0))
        ...     state = noisy.begin(1, 2)
        ...     after = noisy.observe(state, seen)
        ...     print(lasting.value, bool((after.factor == state.factor).all()))
        ...
        token True
        round False
    """

    TOKEN = "token"
    ROUND = "round"


@dataclass(frozen=True)
class Oracle:
    """Tells the truth of the rows to come.

    Examples:
        >>> from fluidkv.tokenpd import Oracle
        >>> from fluidkv.tokenpd.seen import Seen
        >>> row, one = np.array([[0.5, 0.5]]), np.array([1])
        >>> seen = Seen(row, row > 0, query=one, round=one, prompt=one, future=row / 2, spread=row)
        >>> mean, variance = Oracle().predict(None, seen)
        >>> mean.tolist()  # not what the row has, but what the rows to come will have
        [[0.25, 0.25]]
    """

    def begin(self, streams: int, keys: int) -> None:
        """See `Predictor`."""

    def observe(self, state: None, seen: Seen) -> None:
        """See `Predictor`."""

    def predict(self, state: None, seen: Seen) -> Told:
        """See `Predictor`."""
        return seen.future, seen.spread


class Noise(NamedTuple):
    """A key of random numbers for each stream, and the factors of its keys."""

    keys: Key[Array, " stream"]
    factor: Float[Array, "stream key"]


class NoisyOracle(eqx.Module):
    """The truth times a log-normal factor of mean `bias`; never above 1. The variance is the truth.

    Args:
        sigma: standard deviation of the factor's logarithm, at least 0; 0.7 is wrong by a factor of
            two either way in a third of the cases.
        bias: mean of the factor, above 0.
        lasting: whether a token keeps its factor.
        key: of the factors; a run gives its own to one that has none.

    Raises:
        InputError: a sigma below 0, a bias not above 0; no key when it begins.

    Examples:
        >>> import jax
        >>> from fluidkv.tokenpd.returns.known import NoisyOracle
        >>> from fluidkv.tokenpd.seen import Seen
        >>> row, one = np.array([[0.5, 0.25]]), np.array([1])
        >>> seen = Seen(row, row > 0, query=one, round=one, prompt=one, future=row, spread=row)
        >>> half = NoisyOracle(sigma=0, bias=0.5, key=jax.random.key(0))
        >>> half.predict(half.begin(1, 2), seen)[0].tolist()
        [[0.25, 0.125]]
    """

    sigma: float
    bias: float = 1.0
    lasting: Lasting = Lasting.TOKEN
    key: PRNGKeyArray | None = None

    def __check_init__(self) -> None:
        not_negative("sigma", self.sigma, most=100)  # of a logarithm
        above_0("bias", self.bias)
        instance("lasting", self.lasting, Lasting, "Lasting.TOKEN or Lasting.ROUND")

    def with_key(self, key: PRNGKeyArray) -> Self:
        """The same with this key, if it has none."""
        return self if self.key is not None else replace(self, key=key)

    def begin(self, streams: int, keys: int) -> Noise:
        """See `Predictor`."""
        if self.key is None:
            raise InputError("key", None, "a key of random numbers, as of `with_key`")
        of_streams = jax.random.split(self.key, streams)
        return Noise(of_streams, self._factors(of_streams, keys))

    def observe(self, state: Noise, seen: Seen) -> Noise:
        """See `Predictor`."""
        if self.lasting is Lasting.TOKEN:
            return state
        now = jax.vmap(jax.random.fold_in)(state.keys, seen.round)
        running = jnp.any(seen.there, axis=1, keepdims=True)
        factor = self._factors(now, state.factor.shape[1])
        return Noise(state.keys, jnp.where(running, factor, state.factor))

    def predict(self, state: Noise, seen: Seen) -> Told:
        """See `Predictor`."""
        return jnp.minimum(state.factor * seen.future, 1.0), seen.spread

    def _factors(self, keys: Key[Array, " stream"], count: int) -> Float[Array, "stream key"]:
        drawn = jax.vmap(lambda key: jax.random.normal(key, (count,)))(keys)
        return self.bias * jnp.exp(self.sigma * drawn - self.sigma**2 / 2)


@dataclass(frozen=True)
class Constant:
    """Says the same of every token: section 6's ablation.

    Args:
        value: within 0 and 1. spread: a variance, at least 0.

    Raises:
        InputError: outside that.

    Examples:
        >>> from fluidkv.tokenpd import Constant
        >>> from fluidkv.tokenpd.seen import Seen
        >>> row, one = np.array([[0.5, 0.5]]), np.array([1])
        >>> seen = Seen(row, row > 0, query=one, round=one, prompt=one, future=row, spread=row)
        >>> mean, variance = Constant(0.25).predict(None, seen)
        >>> mean.tolist(), variance.tolist()
        ([[0.25, 0.25]], [[0.0, 0.0]])
    """

    value: float = 0.01
    spread: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= real(self.value) <= 1:
            raise InputError("value", self.value, "a number within 0 and 1")
        not_negative("spread", self.spread)

    def begin(self, streams: int, keys: int) -> None:
        """See `Predictor`."""

    def observe(self, state: None, seen: Seen) -> None:
        """See `Predictor`."""

    def predict(self, state: None, seen: Seen) -> Told:
        """See `Predictor`."""
        return jnp.full_like(seen.weights, self.value), jnp.full_like(seen.weights, self.spread)
