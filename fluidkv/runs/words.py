"""Random words by counter: a run's key, an iteration and a place give 64 bits, in any order.

Threefry-2x32 with 20 rounds, the function behind JAX's default keys, which a test holds equal. It
is written out here because a word is wanted for each (iteration, place) and nothing between: no
keys are split, and XLA makes one loop of it (3 ns a word on a core; through `jax.random`, 20).

Source: J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, UInt32, UInt64

from fluidkv.runs.precision import random_key

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA  # of the key schedule (Skein)


class Words(NamedTuple):
    """Two halves of 32 bits each."""

    high: UInt32[Array, "place ..."]
    low: UInt32[Array, "place ..."]


def run_keys(seed: int, runs: np.ndarray) -> UInt32[Array, "2 run"]:
    """The key of each run: `fold_in` of the seed and the run's number, and of nothing else."""
    root = random_key(seed)
    folded = jax.vmap(lambda run: jax.random.fold_in(root, run))(jnp.asarray(runs, jnp.uint32))
    return jax.random.key_data(folded).T


def words(
    keys: UInt32[Array, "2 ..."], iteration: Int[Array, "*run"], first: int | Array, places: int
) -> Words:
    """The words of an iteration at places `first`, `first` + 1, ...

    Args:
        keys: of one run, or of several along further axes.
        iteration: of all runs, or of each.
        first, places: which words.
    """
    shape = (places, *keys.shape[1:])
    place = jnp.asarray(first, jnp.uint32) + lax.broadcasted_iota(jnp.uint32, shape, 0)
    counter = jnp.broadcast_to(iteration.astype(jnp.uint32), shape)
    made = threefry(keys[0:1], keys[1:2], counter, place)
    return Words(*lax.optimization_barrier(made))  # what follows would break the loop up


def threefry(k0: Array, k1: Array, x0: Array, x1: Array) -> tuple[Array, Array]:
    """Two words of the counter (x0, x1) under the key (k0, k1), all uint32."""
    schedule = (k0, k1, k0 ^ k1 ^ jnp.uint32(_PARITY))
    x0, x1 = x0 + schedule[0], x1 + schedule[1]
    for group in range(5):
        for bits in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = (x1 << jnp.uint32(bits)) | (x1 >> jnp.uint32(32 - bits))
            x1 = x0 ^ x1
        x0 = x0 + schedule[(group + 1) % 3]
        x1 = x1 + schedule[(group + 2) % 3] + jnp.uint32(group + 1)
    return x0, x1


def whole(word: Words) -> UInt64[Array, "place ..."]:
    """All 64 bits."""
    return (word.high.astype(jnp.uint64) << jnp.uint64(32)) | word.low.astype(jnp.uint64)


def uniform(word: Words) -> Float[Array, "place ..."]:
    """On the middles of 2^53 equal parts of (0, 1): neither end can come."""
    return ((whole(word) >> jnp.uint64(11)).astype(jnp.float64) + 0.5) * 2.0**-53
