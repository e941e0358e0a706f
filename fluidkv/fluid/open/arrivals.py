"""Arrivals of the open mass model: requests of each class at each iteration, A^n_k.

An array of rates says how many arrive in the mean; `poisson_arrivals` draws from it. Rates are
requests per iteration, shape (iteration, class), with a leading batch axis at will, and can be
passed as arrivals too: that is the constant, or deterministic, stream.

Source: Congestion, section 2.2 (Poisson), Appendix D.5 (bursts, whose period, window and factor
the paper does not print).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.draws import Key, check_key
from fluidkv.runs.checks import count as count_of
from fluidkv.runs.checks import floats
from fluidkv.runs.rates import burst_rates
from fluidkv.workload import Workload


def arrival_rates(
    workload: Workload,
    total: ArrayLike,
    *,
    iterations: int,
    period: int | None = None,
    window: int = 1,
    contrast: float = 1.0,
    keep_mean: bool = True,
) -> Float[np.ndarray, "*batch iteration class"]:
    """lambda_k = p_k lambda at every iteration, or more of it in the first `window` of each period.

    Args:
        workload: its shares split the rate.
        total: lambda, requests per iteration; one number, or one for each run of a sweep.
        iterations: how many, at least 1.
        period: iterations from one burst to the next; None: there are none.
        window: length of a burst, iterations, less than the period.
        contrast: rate in a burst over the rate outside, as in `fluidkv.runs.rates.burst_rates`;
            `contrast_of` there says it of a factor on the mean.
        keep_mean: a period brings as many as without bursts; otherwise they add to the load.

    Raises:
        InputError: rates that are not positive finite numbers; lengths or a contrast outside of
            what is allowed.

    Examples:
        >>> from fluidkv.fluid import arrival_rates
        >>> workload = fk.Workload.from_lengths([(10, 2), (10, 3), (10, 3)])
        >>> arrival_rates(workload, 6.0, iterations=2).tolist()
        [[2.0, 4.0], [2.0, 4.0]]
        >>> often = {"period": 4, "contrast": 3, "keep_mean": False}
        >>> arrival_rates(workload, 3.0, iterations=5, **often)[:, 0]
        array([3., 1., 1., 1., 3.])
    """
    rates = floats("total", total, "a positive finite rate, or a list of them")
    if rates.ndim > 1 or not rates.size or not np.all(np.isfinite(rates) & (rates > 0)):
        raise InputError("total", total, "a positive finite rate, or a list of them")
    count_of("iterations", iterations)
    by_class = rates[..., None] * np.array([float(c.share) for c in workload.classes])
    shape = np.ones(iterations)
    if period is not None:
        for name, value in (("period", period), ("window", window)):
            count_of(name, value)
        rule = {"period": period, "window": window, "contrast": contrast, "keep_mean": keep_mean}
        burst, between = burst_rates(1.0, **rule)
        shape = np.where(np.arange(iterations) % period < window, burst, between)
    return by_class[..., None, :] * shape[:, None]


def poisson_arrivals(
    key: Key, rates: ArrayLike, *, count: int | None = None
) -> Float[np.ndarray, "*batch iteration class"]:
    """Independent Poisson numbers of requests with these means.

    Args:
        key: JAX random key; the same key and shape give the same arrivals (of NumPy's generator).
        rates: (*batch, iteration, class), as from `arrival_rates`.
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
    check_key(key)
    allowed = "finite rates of at least 0, one a class in the last axis"
    means = floats("rates", rates, allowed)
    if means.ndim < 1 or not means.size or not np.all(np.isfinite(means) & (means >= 0)):
        raise InputError("rates", rates, allowed)
    if count is not None:
        count_of("count", count)
        if means.ndim != 2:
            raise InputError("count", count, "None where rates have a batch axis")
        means = np.broadcast_to(means, (count, *means.shape))
    # Drawn on the host, from a generator that the key seeds: `jax.random.poisson` takes seconds to
    # compile for every new shape, and these are host arrays.
    typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    seed = np.asarray(jax.random.key_data(key) if typed else key)
    return np.random.default_rng(seed.tolist()).poisson(means).astype(np.float64)
