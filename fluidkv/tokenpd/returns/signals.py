"""What a server can see of a cached token without looking ahead: what the network is told.

The paper takes the logits of the next token. Generators of attention have no vocabulary, so these
are signals of attention alone: what the token had, how long it is there, and where.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from fluidkv.tokenpd.returns.averages import AccumulatedMean, Average, ExponentialAverage, Sums
from fluidkv.tokenpd.returns.writing import newest
from fluidkv.tokenpd.seen import Seen

NAMES = (
    "last weight",
    "exponential average, rate 1/2",
    "exponential average, rate 1/16",
    "its standard deviation",
    "accumulated weight a row",
    "accumulated weight a row, times rows so far",
    "largest weight",
    "weight in the row that wrote it",
    "share of the keys so far that are there",
    "rows since it was written",
    "position",
    "rows so far",
)
"""In this order; all as logarithms, because weights span orders of magnitude."""

_FAST, _SLOW, _ALL = ExponentialAverage(1 / 2), ExponentialAverage(1 / 16), AccumulatedMean()
_LEAST = 1e-4
"""Weights far below this are alike: it is added before the logarithm."""


class Signals(NamedTuple):
    """What is remembered of each key."""

    fast: Average
    slow: Average
    sums: Sums
    largest: Float[Array, "stream key"]
    written: Float[Array, "stream key"]


def begin(streams: int, keys: int) -> Signals:
    """Before any row."""
    zero = jnp.zeros((streams, keys))
    return Signals(
        _FAST.begin(streams, keys),
        _SLOW.begin(streams, keys),
        _ALL.begin(streams, keys),
        zero,
        zero,
    )


def observe(signals: Signals, seen: Seen) -> Signals:
    """After a row."""
    given = jnp.where(seen.there, seen.weights, 0.0)
    return Signals(
        _FAST.observe(signals.fast, seen),
        _SLOW.observe(signals.slow, seen),
        _ALL.observe(signals.sums, seen),
        jnp.maximum(signals.largest, given),
        jnp.where(newest(seen), seen.weights, signals.written),
    )


def told(signals: Signals, seen: Seen) -> Float[Array, "stream key signal"]:
    """The signals after a row, in the order of `NAMES`."""
    keys, kind = seen.weights.shape[1], seen.weights.dtype
    position = jnp.broadcast_to(jnp.arange(keys, dtype=kind)[None], seen.there.shape)
    query = jnp.broadcast_to(seen.query.astype(kind)[:, None], seen.there.shape)
    age = jnp.maximum(query - position, 0.0)
    share = _ALL.predict(signals.sums, seen)[0]
    left = jnp.sum(seen.there, axis=1, keepdims=True).astype(kind) / (query + 1)
    weights = (
        seen.weights,
        signals.fast.mean,
        signals.slow.mean,
        jnp.sqrt(signals.slow.spread),
        share,
        share * (query + 1),
        signals.largest,
        signals.written,
    )
    counts = (age, position, query)
    return jnp.stack(
        [jnp.log(weight + _LEAST) for weight in (*weights, left)]
        + [jnp.log1p(number) for number in counts],
        axis=-1,
    )
