"""The price after any number of rounds, out of what was used in them: (5), unrolled.

mu = mu_1 exp(eta S / M), S the sum over the rounds of what was used minus M. A price that has
started above 0 stays above 0, so that one too small for a float is the smallest normal one; else
tokens that are worth nothing would be wanted, or not, by how a machine rounds.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from fluidkv.tokenpd.pricing import Pricing

LEAST = float(np.finfo(np.float64).tiny)
"""The smallest price above 0."""


def price_of(pricing: Pricing, budget: int, imbalance: int) -> float:
    """The price at an imbalance S; infinite where no float holds it."""
    if pricing.start == 0:
        return 0.0
    with np.errstate(over="ignore", under="ignore"):
        factor = max(float(np.exp(float(pricing.step) * imbalance / budget)), LEAST)
        return max(float(pricing.start) * factor, LEAST)


def compiled_price(
    start: Float[Array, "*run"],
    step: Float[Array, "*run"],
    budget: Int[Array, "*run"],
    imbalance: Int[Array, "*run"],
) -> Float[Array, "*run"]:
    """The same in JAX: equal up to the rounding of exp."""
    exponent = step * imbalance.astype(jnp.float64) / budget.astype(jnp.float64)
    factor = jnp.maximum(jnp.exp(exponent), LEAST)
    return jnp.where(start == 0, 0.0, jnp.maximum(start * factor, LEAST))
