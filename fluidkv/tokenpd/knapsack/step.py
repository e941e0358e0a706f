"""One round of the price rule over a batch of streams, as an engine would do between two steps."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fluidkv.errors import InputError
from fluidkv.runs.checks import count
from fluidkv.runs.precision import in_float64
from fluidkv.tokenpd.knapsack.price import price_of
from fluidkv.tokenpd.knapsack.run import tokens_that_fit
from fluidkv.tokenpd.objective import Objective, worth_of
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
        returns, risk: R and sigma^2 as predicted, in float32 or float64, which (4) is decided in;
            a price above 0 is at least the smallest normal number of that kind.
        there: which places hold a token.
        imbalance: S before the round; 0 at first. budget: M. cost: c.

    Raises:
        InputError: axes that do not fit, returns that are no floats, places that are not flags; a
            budget below one token, or one that is hard.

    Examples:
        >>> from fluidkv.tokenpd import Pricing
        >>> from fluidkv.tokenpd.knapsack.step import price_step
        >>> returns, there = np.array([[0.9, 0.4, 0.7]]), np.array([[True, True, True]])
        >>> pricing = Pricing(step=0.1, start=0.5)
        >>> keep, imbalance = price_step(returns, 0 * returns, there, 0, 1, pricing)
        >>> keep.tolist(), imbalance  # two are kept, one fits
        ([[True, False, True]], 1)
    """
    for name, array in (("returns", returns), ("risk", risk), ("there", there)):
        if not hasattr(array, "dtype"):
            raise InputError(name, array, "an array")
        if array.shape != returns.shape:
            raise InputError(name, array.shape, f"an array of shape {returns.shape}, as returns")
    if pricing.budget is not Budget.NETTED:
        raise InputError("pricing", pricing.budget, "Budget.NETTED: a step sorts nothing")
    if not jnp.issubdtype(returns.dtype, jnp.floating):
        raise InputError("returns", returns.dtype, "floats")
    if there.dtype != bool:
        raise InputError("there", there.dtype, "flags")
    tokens_that_fit(budget, count("cost", cost))
    weights = pricing.objective, float(pricing.risk_aversion), float(pricing.penalty)
    bar = _bar(price_of(pricing, budget, _whole(imbalance)) * cost, returns.dtype)
    with in_float64():
        keep, number = _keep(*weights, returns, risk, there, bar)
    return keep, int(imbalance) + cost * int(number) - budget


def _bar(price: float, kind: np.dtype) -> Float[np.ndarray, ""]:
    """mu c in the kind of number that returns have: above 0 if it is."""
    with np.errstate(over="ignore", under="ignore"):
        least = float(jnp.finfo(kind).tiny) if price > 0 else 0.0
        return np.asarray(max(price, least), kind)


def _whole(imbalance: int) -> int:
    if not isinstance(imbalance, int | np.integer):
        raise InputError("imbalance", imbalance, "an integer")
    return int(imbalance)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _keep(
    objective: Objective,
    risk_aversion: float,
    penalty: float,
    returns: Float[Array, "stream token"],
    risk: Float[Array, "stream token"],
    there: Bool[Array, "stream token"],
    bar: Float[np.ndarray, ""],
) -> tuple[Bool[Array, "stream token"], Array]:
    worth = worth_of(
        objective,
        returns,
        risk,
        risk_aversion=risk_aversion,
        penalty=penalty,
    )
    keep = (worth >= bar) & there
    return keep, _number(lax.optimization_barrier(keep))


def _number(flags: Bool[Array, "*shape"]) -> Int[Array, ""]:
    """How many are set, eight at a time: XLA's own sum takes longer than all the rest."""
    flat = flags.ravel().astype(jnp.uint8)
    eights = jnp.pad(flat, (0, -flat.size % 8)).reshape(-1, 8)
    words = lax.bitcast_convert_type(eights, jnp.uint64)
    return lax.population_count(words).sum().astype(jnp.int64)
