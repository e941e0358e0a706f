"""What scorers know of each prompt, computed for all streams at once before the first round."""

from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int

from fluidkv.tokenpd.attention.oracle import after_row, mean_and_variance, remaining
from fluidkv.tokenpd.attention.quality import renormalised
from fluidkv.tokenpd.eviction.rounds import Prompts, Rows, only
from fluidkv.tokenpd.seen import Scorer, Seen


def after_prompts(rows: Rows, scorer: Scorer, longest: int) -> Prompts:
    """A prompt's rows are computed with all of its keys there, whatever else memory holds.

    Args:
        longest: at least the tokens of the longest prompt.
    """
    streams, _, keys = rows.weights.shape
    position = jnp.arange(keys)[None, :]

    def row_of_each(carried: Any, query: Int[Array, ""]) -> tuple[Any, None]:
        state, shown, to_come = carried
        now = query < rows.prompt
        row = rows.weights[:, jnp.minimum(query, keys - 1)].astype(jnp.float64)
        there = now[:, None] & (position <= query)
        weights = renormalised(row, there)
        to_come = after_row(to_come, row, now)
        mean, spread = mean_and_variance(to_come)
        queries = jnp.broadcast_to(query, rows.prompt.shape)
        seen = Seen(weights, there, queries, rows.start, rows.prompt, mean, spread)
        state = only(now, scorer.observe(state, seen), state)
        return (state, jnp.where(now[:, None], weights, shown), to_come), None

    nothing = jnp.zeros((streams, keys), jnp.float64)
    start = scorer.begin(streams, keys), nothing, remaining(rows.weights, rows.length)
    return Prompts(*lax.scan(row_of_each, start, jnp.arange(longest))[0])
