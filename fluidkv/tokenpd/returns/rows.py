"""What a server would see of an attention if it evicted nothing, row by row."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.returns.known import Told
from fluidkv.tokenpd.seen import Predictor, Seen


def all_rows(attention: Attention) -> Seen:
    """Row q of every stream together, for each q: `Seen` with a leading axis, nothing evicted.

    The round is q: who predicts without a clock does not see the difference.
    """
    streams, keys = attention.weights.shape[:2]
    query = np.arange(keys)
    future, spread = to_come(attention)
    inside = query[:, None] < attention.length[None]
    causal = query[:, None, None] >= query[None, None]
    return Seen(
        weights=jnp.asarray(np.where(inside[..., None], attention.weights.swapaxes(0, 1), 0.0)),
        there=jnp.asarray(inside[..., None] & causal),
        query=jnp.asarray(np.broadcast_to(query[:, None], (keys, streams)), jnp.int32),
        round=jnp.asarray(query, jnp.int32),
        future=jnp.asarray(future.swapaxes(0, 1)),
        spread=jnp.asarray(spread.swapaxes(0, 1)),
    )


def to_come(attention: Attention) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of what each key will have in the rows after each: (stream, query, key)."""
    keys = attention.weights.shape[1]
    query = np.arange(keys)
    inside = query[None, :, None] < attention.length[:, None, None]
    given = np.where(inside, attention.weights, 0.0).astype(float)

    def after(array: np.ndarray) -> np.ndarray:
        total = np.cumsum(array[:, ::-1], axis=1)[:, ::-1]
        return np.concatenate([total[:, 1:], np.zeros_like(total[:, :1])], axis=1)

    rows = np.maximum(attention.length[:, None, None] - 1 - query[None, :, None], 0)
    safe = np.maximum(rows, 1)
    causal = np.tri(keys, dtype=bool)[None] & (rows > 0)
    mean = np.where(causal, after(given) / safe, 0)
    return mean, np.where(causal, np.maximum(after(given**2) / safe - mean**2, 0), 0)


def judged(attention: Attention, seen: Seen) -> Bool[Array, "query stream key"]:
    """Keys of which a server asks what they will be worth: all, once the prompt is computed, and
    while there is a row to come."""
    query = seen.query[..., None]
    prompt, length = (jnp.asarray(x, jnp.int32) for x in (attention.prompt, attention.length))
    last = (query >= prompt[None, :, None] - 1) & (query < length[None, :, None] - 1)
    return seen.there & last


@eqx.filter_jit
def predictions(predictor: Predictor, rows: Seen) -> Told:
    """What a predictor says after each row: mean and variance, (query, stream, key)."""
    streams, keys = rows.weights.shape[1:]

    def step(state: Any, seen: Seen) -> tuple[Any, Told]:
        state = predictor.observe(state, seen)
        return state, predictor.predict(state, seen)

    return jax.lax.scan(step, predictor.begin(streams, keys), rows)[1]
