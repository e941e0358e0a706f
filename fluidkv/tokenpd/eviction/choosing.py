"""Which tokens stay, in JAX: the best of a budget without a sort.

What has rank M is found by bisection on the bits of what tokens are ordered by: each bit is one
count over all tokens. A sort of as many takes some ten times as long on a CPU.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, UInt64


class Word(NamedTuple):
    """What tokens are ordered by, as whole numbers of so many bits."""

    values: UInt64[Array, "stream key"]
    bits: int


def best(
    order: list[Word], among: Bool[Array, "stream key"], places: Int[Array, " stream_or_1"]
) -> Bool[Array, "stream key"]:
    """The highest by the first word, among equals by the next, and so on.

    Args:
        order: the last one tells all tokens apart.
        among: who may stay.
        places: one number for all streams together, or one for each.
    """
    stays = jnp.zeros_like(among)
    places = jnp.maximum(places, 0)
    for word in order:
        above, level = _split(word, among, places)
        stays |= above
        places = places - _count(above, places)
        among = level
    return stays | (among & _to_all(places > 0))


def _split(
    word: Word, among: Bool[Array, "stream key"], places: Int[Array, " stream_or_1"]
) -> tuple[Bool[Array, "stream key"], Bool[Array, "stream key"]]:
    """Who is above the value that the last place goes to, and who has just that value."""
    values = jnp.where(among, word.values, 0)

    def lower(at: Int[Array, ""], threshold: UInt64[Array, " s"]) -> UInt64[Array, " s"]:
        tried = threshold | (jnp.uint64(1) << jnp.uint64(word.bits - 1 - at))
        enough = _count(values >= _to_all(tried), places) >= places
        return jnp.where(enough, tried, threshold)

    start = jnp.zeros(places.shape, jnp.uint64)
    threshold = _to_all(lax.fori_loop(0, word.bits, lower, start))
    return among & (values > threshold), among & (values == threshold)


def _count(
    chosen: Bool[Array, "stream key"], places: Int[Array, " stream_or_1"]
) -> Int[Array, " stream_or_1"]:
    each = chosen.sum(axis=1, dtype=jnp.int32)
    return each if len(places) > 1 else each.sum(keepdims=True, dtype=jnp.int32)


def _to_all(values: Array) -> Array:
    return values[:, None]


def number(values: Float[Array, "stream key"]) -> Word:
    """Numbers as words of the same order; -0 is 0."""
    bits = lax.bitcast_convert_type(jnp.where(values == 0, 0.0, values), jnp.uint64)
    top = jnp.uint64(1 << 63)
    return Word(jnp.where(bits >= top, ~bits, bits | top), 64)


def newer(streams: int, keys: int) -> Word:
    """The higher position, then the later stream; all tokens differ."""
    position = jnp.arange(keys, dtype=jnp.uint64)[None, :]
    stream = jnp.arange(streams, dtype=jnp.uint64)[:, None]
    return Word(position * jnp.uint64(streams) + stream, max(1, (streams * keys - 1).bit_length()))


def shares(budget: Int[Array, ""], going_on: Bool[Array, " stream"]) -> Int[Array, " stream"]:
    """The budget in equal shares among streams that go on; what is left over goes to the first."""
    streams = jnp.maximum(going_on.sum(dtype=jnp.int64), 1)
    rank = jnp.cumsum(going_on, dtype=jnp.int64) - 1
    share = budget // streams + (rank < budget % streams).astype(jnp.int64)
    most = jnp.iinfo(jnp.int32).max
    return jnp.where(going_on, jnp.minimum(share, most), 0).astype(jnp.int32)
