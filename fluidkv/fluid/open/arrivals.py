"""Arrivals of the open mass model: requests of each class at each iteration, A^n_k.

An array of rates says how many arrive in the mean; `poisson_arrivals` draws from it. Rates are
requests per iteration, shape (class,) or (iteration, class), with a leading batch axis at will.
Rates can be passed as arrivals too: that is the constant, or deterministic, stream.

Source: Congestion, section 2.2 (Poisson), Appendix D.5 (bursts, whose period, window and factor
the paper does not print).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, UInt
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.draws import check_key
from fluidkv.fluid.open.inputs import floats
from fluidkv.runs.checks import count as count_of
from fluidkv.runs.rates import burst_rates
from fluidkv.workload import Workload


def class_rates(workload: Workload, total: ArrayLike) -> Float[np.ndarray, "*batch class"]:
    """lambda_k = p_k lambda.

    Args:
        workload: its shares split the rate.
        total: lambda, requests per iteration; one number, or one for each run of a sweep.

    Raises:
        InputError: a rate that is not a positive finite number.

    Examples:
        >>> from fluidkv.fluid import class_rates
        >>> class_rates(fk.Workload.from_lengths([(10, 2), (10, 3), (10, 3)]), 6.0)
        array([2., 4.])
    """
    rates = _numbers("total", total)
    if rates.ndim > 1 or not np.all(rates > 0):
        raise InputError("total", total, "a positive finite rate, or a list of them")
    return rates[..., None] * np.array([float(c.share) for c in workload.classes])


def steady(rates: ArrayLike, *, iterations: int) -> Float[np.ndarray, "*batch iteration class"]:
    """The same rates (*batch, class) at every iteration.

    Examples:
        >>> from fluidkv.fluid import steady
        >>> steady([2.0, 4.0], iterations=3).tolist()
        [[2.0, 4.0], [2.0, 4.0], [2.0, 4.0]]
    """
    count_of("iterations", iterations)
    rates = _rates(rates)
    return np.repeat(rates[..., None, :], iterations, axis=-2)


def bursts(
    rates: ArrayLike,
    *,
    iterations: int,
    period: int,
    window: int,
    contrast: float,
    keep_mean: bool,
) -> Float[np.ndarray, "*batch iteration class"]:
    """Rates that are higher in the first `window` iterations of each period.

    Args:
        rates: (*batch, class), outside of the windows; with `keep_mean`, the mean over a period.
        iterations: how many, at least 1.
        period: iterations from one burst to the next.
        window: length of a burst, iterations, less than the period.
        contrast: rate in a burst over the rate outside, as in `fluidkv.runs.rates.burst_rates`;
            `contrast_of` there says it of a factor on the mean.
        keep_mean: a period brings as many as without bursts; otherwise they add to the load.

    Raises:
        InputError: lengths or a contrast outside of what is allowed.

    Examples:
        >>> from fluidkv.fluid import bursts
        >>> often = {"iterations": 4, "period": 4, "window": 1, "contrast": 3}
        >>> bursts(np.array([2.0]), **often, keep_mean=False).ravel()
        array([6., 2., 2., 2.])
    """
    for name, value in (("iterations", iterations), ("period", period), ("window", window)):
        count_of(name, value)
    burst, between = burst_rates(
        1.0, period=period, window=window, contrast=contrast, keep_mean=keep_mean
    )
    shape = np.where(np.arange(iterations) % period < window, burst, between)
    return _rates(rates)[..., None, :] * shape[:, None]


def poisson_arrivals(
    key: PRNGKeyArray | UInt[Array, "2"],
    rates: ArrayLike,
    *,
    count: int | None = None,
) -> Float[np.ndarray, "*batch iteration class"]:
    """Independent Poisson numbers of requests with these means.

    Args:
        key: JAX random key; the same key and shape give the same arrivals (of NumPy's generator).
        rates: (*batch, iteration, class), as from `steady` or `bursts`.
        count: draw so many independent runs from one array of rates, along a leading batch axis.

    Raises:
        InputError: negative or non-finite rates, or a count below 1 or for a batch of rates.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import poisson_arrivals, steady
        >>> rates = steady(np.array([2.0, 4.0]), iterations=10_000)
        >>> arrivals = poisson_arrivals(jax.random.key(0), rates)
        >>> arrivals.shape, np.round(arrivals.mean(axis=0), 1)
        ((10000, 2), array([2., 4.]))
    """
    check_key(key)
    rates = _rates(rates)
    if count is not None:
        count_of("count", count)
        if rates.ndim != 2:
            raise InputError("count", count, "None where rates have a batch axis")
        rates = np.broadcast_to(rates, (count, *rates.shape))
    # Drawn on the host, from a generator that the key seeds: `jax.random.poisson` takes seconds to
    # compile for every new shape, and these are host arrays.
    seed = np.asarray(
        key if jnp.issubdtype(key.dtype, np.unsignedinteger) else jax.random.key_data(key)
    )
    return np.random.default_rng(seed.tolist()).poisson(rates).astype(np.float64)


def _rates(rates: ArrayLike) -> Float[np.ndarray, "*any"]:
    values = _numbers("rates", rates)
    if values.ndim < 1 or not np.all(values >= 0):
        raise InputError("rates", rates, "finite rates of at least 0, one a class in the last axis")
    return values


def _numbers(name: str, given: ArrayLike) -> Float[np.ndarray, "*any"]:
    values = floats(name, given, "finite numbers")
    if values.size == 0 or not np.all(np.isfinite(values)):
        raise InputError(name, given, "finite numbers")
    return values
