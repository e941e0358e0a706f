"""Arrivals of the open mass model: requests of each class at each iteration, A^n_k.

Rates are requests per iteration, shape (iteration, class), with a leading batch axis at will. They
are the means of Poisson arrivals, and can be passed as arrivals too: that is the constant, or
deterministic, stream.

Source: Congestion, section 2.2 (Poisson).
"""

import jax
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.draws import Key, one_key
from fluidkv.runs.checks import count as count_of
from fluidkv.runs.checks import floats
from fluidkv.workload import Workload


def class_rates(workload: Workload, total: ArrayLike) -> Float[np.ndarray, "*axes class"]:
    """lambda_k = p_k lambda.

    Args:
        workload: its shares split the rate.
        total: lambda, requests per iteration, at least 0; of each iteration, (iteration,), or of
            each of many runs, (batch, iteration).

    Raises:
        InputError: rates that are negative or not finite.

    Examples:
        >>> from fluidkv.fluid import class_rates
        >>> from fluidkv.runs.rates import burst_rates
        >>> workload = fk.Workload.from_lengths([(10, 2), (10, 3), (10, 3)])
        >>> burst, between = burst_rates(6.0, period=4, window=1, contrast=5)
        >>> class_rates(workload, np.where(np.arange(5) % 4 < 1, burst, between)).tolist()
        [[5.0, 10.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [5.0, 10.0]]
    """
    return _rates("total", total)[..., None] * np.array([float(c.share) for c in workload.classes])


def poisson_arrivals(
    key: Key, rates: ArrayLike, *, count: int | None = None
) -> Float[np.ndarray, "*batch iteration class"]:
    """Independent Poisson numbers of requests with these means.

    Args:
        key: JAX random key; the same key and shape give the same arrivals (of NumPy's generator).
        rates: (*batch, iteration, class), as from `class_rates`.
        count: draw so many independent runs from one array of rates, along a leading batch axis.

    Raises:
        InputError: a key that is none, negative or non-finite rates, or a count below 1 or for a
            batch of rates.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import poisson_arrivals
        >>> arrivals = poisson_arrivals(jax.random.key(0), np.full((10_000, 2), [2.0, 4.0]))
        >>> arrivals.shape, np.round(arrivals.mean(axis=0), 1)
        ((10000, 2), array([2., 4.]))
    """
    seed = np.asarray(jax.random.key_data(one_key(key)))
    means = _rates("rates", rates)
    if not means.ndim:
        raise InputError("rates", rates, "an array, with one a class in the last axis")
    if count is not None:
        count_of("count", count)
        if means.ndim != 2:
            raise InputError("count", count, "None where rates have a batch axis")
        means = np.broadcast_to(means, (count, *means.shape))
    # Drawn on the host, from a generator that the key seeds: `jax.random.poisson` takes seconds to
    # compile for every new shape, and these are host arrays.
    try:
        return np.random.default_rng(seed.tolist()).poisson(means).astype(np.float64)
    except ValueError:
        raise InputError("rates", float(means.max()), "rates below 9.2e18") from None


def _rates(name: str, values: ArrayLike) -> Float[np.ndarray, "*axes"]:
    allowed = "finite rates of at least 0, requests per iteration"
    rates = floats(name, values, allowed)
    if not rates.size or not np.all(np.isfinite(rates) & (rates >= 0)):
        raise InputError(name, values, allowed)
    return rates
