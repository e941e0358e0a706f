"""The settings of JAX under which the package computes, whatever the user's global ones are."""

from collections.abc import Iterator
from contextlib import contextmanager

import jax
from jaxtyping import PRNGKeyArray

from fluidkv.runs.jax_code import kept_code


def random_key(seed: int) -> PRNGKeyArray:
    """The key of a seed, of one generator whatever JAX's default is. A user's key keeps its own.

    Examples:
        >>> from jax.random import randint
        >>> from fluidkv.runs import random_key
        >>> int(randint(random_key(0), (), 0, 100))
        89
    """
    return jax.random.key(seed, impl="threefry2x32")


@contextmanager
def in_float64() -> Iterator[None]:
    """float64, draws that depend on the key alone, and NaN and infinity where they are meant.

    For this thread and this block; the user's settings are as before after it. Some results are NaN
    on purpose, such as the latency of nobody: `JAX_DEBUG_NANS` would take them for faults.
    """
    with (
        kept_code(),
        jax.enable_x64(True),
        jax.threefry_partitionable(True),
        jax.debug_nans(False),
        jax.debug_infs(False),
    ):
        yield


@contextmanager
def in_float32() -> Iterator[None]:
    """float32, for the training of networks; the rest as `in_float64`.

    Optax counts its steps in integers and mixes them with floats, which a user may have forbidden.
    """
    with (
        kept_code(),
        jax.enable_x64(False),
        jax.threefry_partitionable(True),
        jax.debug_nans(False),
        jax.debug_infs(False),
        jax.numpy_dtype_promotion("standard"),
    ):
        yield
