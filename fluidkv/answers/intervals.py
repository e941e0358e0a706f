"""How sure a mean over seeds is: the interval that holds the mean over all of them."""

import numpy as np
from jaxtyping import Float

from fluidkv.answers.served.paired import CONFIDENCE


def half_width(values: Float[np.ndarray, "... seed"]) -> Float[np.ndarray, "..."]:
    """Half of the interval of the mean over the last axis (Student); NaN of one value."""
    from scipy.stats import t

    seeds = values.shape[-1]
    if seeds == 1:
        return np.full(values.shape[:-1], np.nan)
    quantile = float(t.ppf((1 + CONFIDENCE) / 2, seeds - 1))
    return quantile * values.std(axis=-1, ddof=1) / np.sqrt(seeds)
