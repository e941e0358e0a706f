"""A prediction that is made once, when the token is written, and stays: sections 4 and 5."""

from dataclasses import replace
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fluidkv.runs.checks import instance
from fluidkv.tokenpd.returns.known import Told
from fluidkv.tokenpd.seen import Predictor, Seen


class Said(NamedTuple):
    """The other predictor's state, and what it said of each key when it was written."""

    inner: Any
    mean: Float[Array, "stream key"]
    spread: Float[Array, "stream key"]


class AtWriting(eqx.Module):
    """What another predictor says of a token in the row that writes it.

    Section 4 predicts from the logits of the step that makes the token, and section 5 records what
    follows from it: neither looks again.

    Args:
        predictor: the other one.

    Raises:
        InputError: something that predicts nothing.

    Examples:
        >>> import jax
        >>> from fluidkv.tokenpd import AtWriting
        >>> from fluidkv.tokenpd.returns.averages import LastSeen
        >>> from fluidkv.tokenpd.seen import Seen
        >>> row, one = np.array([[0.5, 0.5]]), np.array([1])
        >>> seen = Seen(row, row > 0, query=one, round=one, prompt=one, future=row, spread=row)
        >>> with jax.enable_x64(True):
        ...     once = AtWriting(LastSeen())
        ...     state = once.observe(once.begin(1, 2), seen)
        ...     print(once.predict(state, seen)[0].tolist())  # the second key is new
        ...
        [[0.0, 0.5]]
    """

    predictor: Predictor

    def __check_init__(self) -> None:
        instance("predictor", self.predictor, Predictor, "a Predictor")

    def with_key(self, key: PRNGKeyArray) -> Self:
        """The same with this key, if the other one draws."""
        return replace(self, predictor=keyed(self.predictor, key))

    def begin(self, streams: int, keys: int) -> Said:
        """See `Predictor`."""
        zero = jnp.zeros((streams, keys))
        return Said(self.predictor.begin(streams, keys), zero, zero)

    def observe(self, state: Said, seen: Seen) -> Said:
        """See `Predictor`."""
        inner = self.predictor.observe(state.inner, seen)
        mean, spread = self.predictor.predict(inner, seen)
        new = newest(seen)
        return Said(inner, jnp.where(new, mean, state.mean), jnp.where(new, spread, state.spread))

    def predict(self, state: Said, seen: Seen) -> Told:
        """See `Predictor`."""
        return state.mean, state.spread


def newest(seen: Seen) -> Array:
    """Keys that this row writes: (stream, key), bool."""
    key = jnp.arange(seen.weights.shape[1], dtype=seen.query.dtype)
    return seen.there & (key[None] == seen.query[:, None])


def keyed(predictor: Any, key: PRNGKeyArray) -> Any:
    """A predictor with a run's key, if it draws."""
    return predictor.with_key(key) if hasattr(predictor, "with_key") else predictor
