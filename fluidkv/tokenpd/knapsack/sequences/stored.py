"""Drawn rounds as a pool, for runs short enough to store."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt32

from fluidkv.runs.checks import count
from fluidkv.runs.precision import in_float64
from fluidkv.runs.words import run_keys
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.knapsack.sequences.draws import Sequence, check_seed, check_sequence


def drawn_pool(
    sequence: Sequence, rounds: int, *, seed: int = 0, number: int = 0, cost: int = 1
) -> Pool:
    """The rounds that seed `number` of `price_sums(..., seed=seed)` meets.

    Each token is a request of its own, which ends with its round; risks are 0. Memory grows with
    the square of the rounds.

    Raises:
        InputError: no round, no sequence, or a seed below 0.

    Examples:
        >>> from fluidkv.tokenpd import Stochastic
        >>> from fluidkv.tokenpd.knapsack.sequences.stored import drawn_pool
        >>> pool = drawn_pool(Stochastic(tokens=4), rounds=3, seed=1)
        >>> pool.returns.shape, pool.arrival.tolist()
        ((3, 12), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    """
    check_sequence(sequence)
    rounds = count("rounds", rounds)
    seed, number = check_seed("seed", seed), check_seed("number", number)
    with in_float64():
        keys = run_keys(seed, np.array([number]))
        drawn = np.asarray(_drawn(sequence, keys, jnp.arange(rounds), jnp.int64(rounds)))[:, :, 0]
    at, place = np.nonzero(drawn >= 0)
    returns = np.zeros((rounds, at.size))
    returns[at, np.arange(at.size)] = drawn[at, place]
    return Pool(returns, np.arange(at.size), at, at + 1, np.zeros_like(returns), cost=cost)


@partial(jax.jit, static_argnums=0)
def _drawn(
    sequence: Sequence,
    keys: UInt32[Array, "2 seed"],
    at: Int[Array, " round"],
    rounds: Int[Array, ""],
) -> Float[Array, "round token seed"]:
    return sequence.draw(keys, at, rounds)
