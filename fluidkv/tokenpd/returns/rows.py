"""What a server would see of an attention, row by row: if it evicted nothing, or some."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from fluidkv.tokenpd.attention.oracle import future_returns
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.returns.known import Told
from fluidkv.tokenpd.seen import Predictor, Seen


def all_rows(attention: Attention) -> Seen:
    """Row q of every stream together, for each q: `Seen` with a leading axis, nothing evicted."""
    keys = attention.weights.shape[1]
    query, prompt = np.arange(keys)[:, None], attention.prompt[None]
    future, spread = (_by_row(part) for part in future_returns(attention))
    inside = (query < attention.length[None])[..., None]
    return Seen(
        weights=jnp.asarray(np.where(inside, _by_row(attention.weights), 0.0)),
        there=jnp.asarray(inside & np.tri(keys, dtype=bool)[:, None]),
        query=_whole(np.broadcast_to(query, inside.shape[:2])),
        round=_whole(attention.start[None] + np.maximum(query - prompt + 1, 0)),
        prompt=_whole(np.broadcast_to(prompt, inside.shape[:2])),
        future=jnp.asarray(future),
        spread=jnp.asarray(spread),
    )


def _by_row(array: np.ndarray) -> np.ndarray:
    return array.swapaxes(0, 1).astype(np.float64)


def _whole(array: np.ndarray) -> Int[Array, "query stream"]:
    return jnp.asarray(array, jnp.int32)


def thinned(rows: Seen, shares: Float[np.ndarray, " stream"]) -> Seen:
    """The rows of caches that evict: of each stream, once its prompt is computed, this share of the
    keys so far stays, those with the highest average of the last rows or so. What goes is gone."""
    weights, there = np.array(rows.weights), np.array(rows.there)
    prompt = np.asarray(rows.prompt)[0]
    keys = weights.shape[2]
    average, stays = np.zeros(weights.shape[1:]), np.ones(weights.shape[1:], bool)
    for query in range(keys):
        there[query] &= stays
        weights[query] *= there[query]
        total = weights[query].sum(1, keepdims=True)
        weights[query] /= np.where(total > 0, total, 1)
        average = (3 * average + weights[query]) / 4
        average[:, query] = weights[query, :, query]
        rank = np.where(there[query], -average, 1).argsort(1, kind="stable").argsort(1)
        best = rank < np.ceil(shares * (query + 1))[:, None]
        later = np.arange(keys)[None] > query
        stays &= best | later | (query + 1 < prompt)[:, None]
    return rows._replace(weights=jnp.asarray(weights), there=jnp.asarray(there))


def judged(attention: Attention, seen: Seen) -> Bool[Array, "query stream key"]:
    """Keys of which a server asks what they will be worth: all, once the prompt is computed, and
    while there is a row to come."""
    to_come = seen.query < jnp.asarray(attention.length - 1, jnp.int32)[None]
    return seen.there & ((seen.query >= seen.prompt - 1) & to_come)[..., None]


@eqx.filter_jit
def predictions(predictor: Predictor, rows: Seen) -> Told:
    """What a predictor says after each row: mean and variance, (query, stream, key)."""
    streams, keys = rows.weights.shape[1:]

    def step(state: Any, seen: Seen) -> tuple[Any, Told]:
        state = predictor.observe(state, seen)
        return state, predictor.predict(state, seen)

    return jax.lax.scan(step, predictor.begin(streams, keys), rows)[1]
