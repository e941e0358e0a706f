"""What evicting tokens does to attention: the mass that is kept, and the error of the output.

Both look at one query of one layer at a time. Neither is perplexity: no later layer, no logits and
no text are computed, so that nothing here says how much worse a model would speak. Errors may grow
or cancel from layer to layer.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def mass_kept(
    weights: Float[Array, "*stream key"], kept: Bool[Array, "*stream key"]
) -> Float[Array, "*stream"]:
    """The share of the true weights that lies on kept keys; 0 where there are no weights.

    Examples:
        >>> from fluidkv.tokenpd.attention.quality import mass_kept
        >>> weights, kept = np.array([0.5, 0.25, 0.25]), np.array([True, True, False])
        >>> float(mass_kept(weights, kept))
        0.75
    """
    on_kept = jnp.where(kept, weights, 0).sum(-1)
    return _share(on_kept, weights.sum(-1))


def renormalised(
    weights: Float[Array, "*stream key"], kept: Bool[Array, "*stream key"]
) -> Float[Array, "*stream key"]:
    """The weights that a softmax over the kept keys alone has; 0 where these have none.

    Examples:
        >>> from fluidkv.tokenpd.attention.quality import renormalised
        >>> weights, kept = np.array([0.5, 0.375, 0.125]), np.array([False, True, True])
        >>> renormalised(weights, kept).tolist()
        [0.0, 0.75, 0.25]
    """
    on_kept = jnp.where(kept, weights, 0)
    return _share(on_kept, on_kept.sum(-1, keepdims=True))


def output_error(
    weights: Float[Array, "*stream key"], kept: Bool[Array, "*stream key"]
) -> Float[Array, "*stream"]:
    """Relative error of the attention output when only kept keys are attended to.

    With w the true weights and w' the renormalised ones, sqrt(sum (w' - w)^2 / sum w^2): for values
    v drawn independently with mean 0 and one variance, it is the root of E |sum (w' - w) v|^2 over
    E |sum w v|^2. Real values have a common part and depend on their keys; then it is neither a
    bound nor an expectation. Where nothing is kept the output is 0 and the error is 1.

    Examples:
        >>> from fluidkv.tokenpd.attention.quality import output_error
        >>> weights, kept = np.array([0.5, 0.25, 0.25]), np.array([True, False, False])
        >>> float(output_error(weights, kept))  # (1, 0, 0) in the place of the weights
        1.0
    """
    return relative_error(weights, renormalised(weights, kept))


def relative_error(
    weights: Float[Array, "*stream key"], others: Float[Array, "*stream key"]
) -> Float[Array, "*stream"]:
    """The same for any other weights w' in the place of w.

    Examples:
        >>> from fluidkv.tokenpd.attention.quality import relative_error
        >>> float(relative_error(np.array([0.5, 0.25, 0.25]), np.array([1.0, 0.0, 0.0])))
        1.0
    """
    off = jnp.square(others - weights).sum(-1)
    return jnp.sqrt(_share(off, jnp.square(weights).sum(-1)))


def _share(part: Float[Array, "*any"], whole: Float[Array, "*any"]) -> Float[Array, "*any"]:
    """part / whole, 0 where the whole is 0."""
    return jnp.where(whole > 0, part / jnp.where(whole > 0, whole, 1), 0)
