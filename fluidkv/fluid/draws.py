"""What starts draw, with one key or with a key for each of many systems: always the same numbers.

System i of many draws with `fold_in(key, systems.index[i])`. Its numbers are those of a single call
with that key: of the generator that JAX takes by default a draw of n numbers begins with the draw
of fewer. So one padded call serves systems of unlike lengths, and few sizes are ever compiled.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt

from fluidkv.errors import InputError
from fluidkv.runs.batch import power_of_two
from fluidkv.runs.precision import in_float64

Key = PRNGKeyArray | UInt[Array, "2"]

Path = tuple[tuple[int, int], ...]
"""Which key of which split, one after the other: ((4, 1),) is `split(key, 4)[1]`."""

_CHUNK = 2**20  # numbers drawn at a time
_LEAST = 1024  # of one key, which takes no time
_KINDS = {
    "uniform": partial(jax.random.uniform, dtype=np.float64),  # in [0, 1)
    "signed": partial(jax.random.uniform, dtype=np.float64, minval=-1.0, maxval=1.0),
    "exponential": partial(jax.random.exponential, dtype=np.float64),
}


def drawn(kind: str, key: Key, shape: tuple[int, ...], *, path: Path = ()) -> np.ndarray:
    """Float64 numbers of a key: "uniform" in [0, 1), "signed" in [-1, 1), "exponential"."""
    with in_float64():
        alike, key = _begins_alike(key), _followed(key, path)
        if not alike:
            return np.array(_KINDS[kind](key, shape))
        size = int(np.prod(shape))
        flat = np.asarray(_one(kind, power_of_two(size, _LEAST), key))
        return flat[:size].reshape(shape).copy()


def drawn_each(
    kind: str,
    key: Key,
    index: Int[np.ndarray, " system"],
    shapes: Int[np.ndarray, "system axis"],
    *,
    path: Path = (),
) -> Iterator[tuple[np.ndarray, Float[np.ndarray, "chosen ..."]]]:
    """Numbers of many systems: of those of one shape together, in parts that memory can hold.

    Args:
        index: what is folded into the key, below 2^32.
        shapes: of what each of them draws.

    Yields:
        Which systems, and their numbers.
    """
    sizes = np.prod(shapes, axis=1)
    order = np.lexsort((*shapes.T, sizes))
    if not _begins_alike(key):
        for i in order:
            with in_float64():
                each = jax.random.fold_in(key, int(index[i]))
            yield np.array([i]), drawn(kind, each, tuple(map(int, shapes[i])), path=path)[None]
        return
    first = 0
    while first < len(order):
        width = power_of_two(int(sizes[order[first]]), 64)
        rows = max(1, _CHUNK // width)
        chosen = order[first : first + rows]
        chosen = chosen[sizes[chosen] <= width]
        padded = np.resize(chosen, power_of_two(len(chosen)))
        with in_float64():
            keys = _keys(*_split(path), key, index[padded].astype(np.uint32))
            table = np.asarray(_each(kind, width, keys))
        ends = np.flatnonzero(np.any(np.diff(shapes[chosen], axis=0), axis=1)) + 1
        for part in np.split(np.arange(len(chosen)), ends):
            shape = tuple(map(int, shapes[chosen[part[0]]]))
            numbers = table[part[0] : part[-1] + 1, : int(np.prod(shape))]
            yield chosen[part], numbers.reshape(len(part), *shape)
        first += len(chosen)


def _begins_alike(key: Key) -> bool:
    """Whether the generator is the one of which short draws are the beginning of long ones."""
    if not isinstance(key, jax.Array | np.ndarray):
        raise InputError("key", key, "a JAX random key, as jax.random.key makes")
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        return str(jax.random.key_impl(key)) == "threefry2x32"
    return key.shape == (2,)


def _followed(key: Key, path: Path) -> Key:
    return _follow(*_split(path), key) if path else key


def _split(path: Path) -> tuple[tuple[int, ...], Int[np.ndarray, " split"]]:
    """Into how many, and which: only the first is compiled."""
    return tuple(splits for splits, _ in path), np.array([which for _, which in path], np.int32)


@partial(jax.jit, static_argnums=0)
def _follow(splits: tuple[int, ...], which: Int[Array, " split"], key: Any) -> Any:
    for place, count in enumerate(splits):
        key = jax.random.split(key, count)[which[place]]
    return key


@partial(jax.jit, static_argnums=(0, 1))
def _one(kind: str, size: int, key: Key) -> Float[Array, " number"]:
    return _KINDS[kind](key, (size,))


@partial(jax.jit, static_argnums=0)
def _keys(
    splits: tuple[int, ...],
    which: Int[Array, " split"],
    key: Key,
    index: UInt[Array, " system"],
) -> Key:
    return jax.vmap(lambda i: _follow(splits, which, jax.random.fold_in(key, i)))(index)


@partial(jax.jit, static_argnums=(0, 1))
def _each(kind: str, size: int, keys: Key) -> Float[Array, "system number"]:
    return jax.vmap(lambda key: _KINDS[kind](key, (size,)))(keys)
