"""One round of the price rule over a batch of streams, as an engine would do between two steps."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fluidkv.errors import InputError
from fluidkv.runs.checks import instance
from fluidkv.runs.precision import in_float64
from fluidkv.tokenpd.knapsack.price import price_of
from fluidkv.tokenpd.knapsack.run import tokens_that_fit
from fluidkv.tokenpd.objective import worth_of
from fluidkv.tokenpd.pricing import Budget, Pricing


def price_step(
    returns: Float[Array, "stream token"],
    risk: Float[Array, "stream token"],
    there: Bool[Array, "stream token"],
    imbalance: int,
    budget: int,
    pricing: Pricing,
    *,
    cost: int = 1,
) -> tuple[Bool[Array, "stream token"], int]:
    """Which tokens rule (4) keeps, and S after the round, by (5), with a netted budget.

    Args:
        returns, risk: R and sigma^2 as predicted, in float32 or float64, which (4) is decided in.
        there: which places hold a token.
        imbalance: S before the round; 0 at first. budget: M. cost: c.

    Raises:
        InputError: axes that do not fit, a budget below one token, or one that is hard.
    """
    for name, array in (("risk", risk), ("there", there)):
        if array.shape != returns.shape:
            raise InputError(name, array.shape, f"an array of shape {returns.shape}, as returns")
    if instance("pricing", pricing, Pricing, "a Pricing").budget is not Budget.NETTED:
        raise InputError("pricing", pricing.budget, "Budget.NETTED: a step sorts nothing")
    tokens_that_fit(budget, cost)
    bar = np.asarray(price_of(pricing, budget, imbalance) * cost, returns.dtype)
    with in_float64():
        keep, number = _keep(pricing, returns, risk, there, bar)
    return keep, imbalance + cost * int(number) - budget


@partial(jax.jit, static_argnums=0)
def _keep(
    pricing: Pricing,
    returns: Float[Array, "stream token"],
    risk: Float[Array, "stream token"],
    there: Bool[Array, "stream token"],
    bar: Float[np.ndarray, ""],
) -> tuple[Bool[Array, "stream token"], Array]:
    worth = worth_of(
        pricing.objective,
        returns,
        risk,
        risk_aversion=pricing.risk_aversion,
        penalty=pricing.penalty,
    )
    keep = (worth >= bar) & there
    return keep, _number(lax.optimization_barrier(keep))


def _number(flags: Bool[Array, "*shape"]) -> Int[Array, ""]:
    """How many are set, eight at a time: XLA's own sum takes longer than all the rest."""
    flat = flags.ravel().astype(jnp.uint8)
    eights = jnp.pad(flat, (0, -flat.size % 8)).reshape(-1, 8)
    words = lax.bitcast_convert_type(eights, jnp.uint64)
    return lax.population_count(words).sum().astype(jnp.int64)
