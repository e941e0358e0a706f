"""WAIT and Nested WAIT as pure JAX maps: one `step` for masses and for counts.

`step` is what `fluidkv.fluid.rollout` iterates: pure, with static shapes, and looking at no value,
so that it works under `jit`, `vmap` and `scan`, and for masses under `grad` and `jacobian` too.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, UInt32

from fluidkv.errors import InputError
from fluidkv.runs.words import words
from fluidkv.wait.chain.chain import Chain, Flows
from fluidkv.wait.chain.counts import CountChain, CountState
from fluidkv.wait.chain.masses import FluidChain, FluidState


def step(
    chain: CountChain | FluidChain, state: CountState | FluidState, key: Array | None = None
) -> tuple[Any, Flows]:
    """One iteration of one run: wait, select, execute, arrive.

    Args:
        chain: from `fluid_chain` or `count_chain`.
        state: of one run; `empty(chain)` is where nobody has come yet.
        key: JAX random key, which counts need. Iteration n draws the words at (n, 0), (n, 1), ...
            of it, so that a run may have one key for all iterations, or one for each.

    Returns:
        The state after it, and what the iteration was.

    Raises:
        InputError: while tracing, where `jax_enable_x64` is not set, a state of another shape or
            kind, or no key for counts, or something else than one.

    Source: WAIT, Algorithms 1 and 2.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import rollout
        >>> from fluidkv.wait import Segments, count_chain, empty, fluid_chain, step
        >>> segments = Segments(3, ends=(1, 3), rates=(6, 2))
        >>> clock = {"base": 1, "per_kv_token": Fraction(1, 600)}
        >>> fluid = fluid_chain(segments, (9, 4), **clock)
        >>> counts = count_chain(segments, (9, 4), **clock)
        >>> with jax.enable_x64(True):
        ...     run = rollout(fluid, empty(fluid), 40, step=step)
        ...     many = jax.vmap(lambda key: rollout(counts, empty(counts), 40, step=step, key=key))
        ...     times = many(jax.random.split(jax.random.key(0), 500)).state.time
        >>> round(run.state.time.item(), 1), round(float(np.asarray(times).mean()), 1)
        (61.2, 61.1)
    """
    if not jax.config.read("jax_enable_x64"):
        allowed = "True: jax.config.update('jax_enable_x64', True), as numbers here have 64 bits"
        raise InputError("jax_enable_x64", False, allowed)
    if not isinstance(chain, Chain):
        raise InputError("chain", chain, "from fluid_chain or count_chain")
    typed = _typed(state, jax.eval_shape(chain.empty))
    if isinstance(chain, FluidChain):
        return chain.iterate(typed, None)
    return chain.iterate(typed, partial(words, _key_words(key), typed.iterations))


def empty(chain: CountChain | FluidChain) -> Any:
    """The state of a chain, `FluidState` or `CountState`, where nobody has come yet.

    Examples:
        >>> from fluidkv.wait import Segments, count_chain, empty
        >>> chain = count_chain(Segments(3, (1, 3), (6, 2)), (9, 4), base=1, per_kv_token=0)
        >>> empty(chain).queue.tolist()
        [0, 0]
    """
    return chain.empty()


def _typed(state: Any, start: Any) -> Any:
    """The state, in numbers of the same kinds as those of a start.

    Raises:
        InputError: a state of another chain, or of several runs.
    """
    if jax.tree.structure(state) != jax.tree.structure(start):
        raise InputError("state", state, f"a {type(start).__name__}")
    for name, value, own in zip(start._fields, state, start, strict=True):
        if jnp.shape(value) != own.shape:
            allowed = f"{own.shape}, of one run; jax.vmap maps over several"
            raise InputError(f"state.{name}", f"shape {jnp.shape(value)}", allowed)
        kind = jnp.result_type(value)
        if jnp.issubdtype(own.dtype, jnp.integer) and not jnp.issubdtype(kind, jnp.integer):
            raise InputError(f"state.{name}", f"numbers of {kind}", "whole numbers")
    return jax.tree.map(lambda value, own: jnp.asarray(value, own.dtype), state, start)


def _key_words(key: Any) -> UInt32[Array, " word"]:
    """The words of one key, typed or raw; there are at least two, of which two are used.

    Raises:
        InputError: something else.
    """
    dtype, shape, value = getattr(key, "dtype", None), getattr(key, "shape", None), key
    if dtype is not None:
        value = f"{dtype} of shape {shape}"
        if jnp.issubdtype(dtype, jax.dtypes.prng_key) and shape == ():
            return jax.random.key_data(key)
        if dtype == jnp.uint32 and shape == (2,):
            return jnp.asarray(key)
    allowed = "a JAX random key, from which counts are drawn; jax.vmap maps over several"
    raise InputError("key", value, allowed)
