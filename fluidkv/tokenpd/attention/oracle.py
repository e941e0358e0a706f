"""Returns as an oracle knows them: mean and variance of the weights that a key will still have.

Sums are kept in units of 2^-40: each weight, and each weight squared, is rounded to a multiple of
it once (wrong by 2^-41 at most), and float64 adds and subtracts such multiples without any rounding
while sums stay below 2^13. So what is left after a row is the same whether it was added up from the
end or what has passed was subtracted, never falls below 0, and is exactly 0 after the last row.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from fluidkv.errors import InputError
from fluidkv.plain import plain_tuple
from fluidkv.tokenpd.attention.weights import Attention

UNIT = 2.0**-40
_MOST_ROWS = 2**13


class FutureReturns(NamedTuple):
    """R and sigma^2 of section 3 over what is still to come; 0 for keys after the query's own.

    Fields:
        mean, variance: of the weights that the key has in the rows after this one, each row once;
            0 after the last row. A mean is wrong by 2^-41 at most, a variance by 3 x 2^-41.

    Examples:
        >>> from fluidkv.tokenpd import Structure, generated
        >>> from fluidkv.tokenpd.attention.oracle import future_returns
        >>> attention = generated(Structure(), seed=0, requests=1, prompt=1, length=3)
        >>> found = future_returns(attention)  # rows of 1/2 and 1/3 follow the first
        >>> found.mean[0, 0].round(3).tolist(), found.variance[0, 0].round(3).tolist()
        ([0.417, 0.0, 0.0], [0.007, 0.0, 0.0])
    """

    mean: Float[np.ndarray, "stream query key"]
    variance: Float[np.ndarray, "stream query key"]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


def future_returns(attention: Attention) -> FutureReturns:
    """What each key will still be worth after each row, in float64.

    Takes four times the memory of float32 weights; `Remaining` gives the same row by row.

    Raises:
        InputError: more than 8,192 rows.

    Examples:
        >>> from fluidkv.tokenpd import Structure, generated
        >>> from fluidkv.tokenpd.attention.oracle import future_returns
        >>> attention = generated(Structure(), seed=0, requests=1, prompt=1, length=3)
        >>> future_returns(attention).mean[0].round(3).tolist()
        [[0.417, 0.0, 0.0], [0.333, 0.333, 0.0], [0.0, 0.0, 0.0]]
    """
    weights = _real_rows(attention)
    rows = attention.length[:, None] - 1 - np.arange(weights.shape[1])
    count = np.maximum(rows, 1)[:, :, None]
    written = np.tri(weights.shape[1], dtype=bool)
    mean = np.where(written, _after(_rounded(weights)) / count, 0)
    square = np.where(written, _after(_rounded(weights**2)) / count, 0)
    return FutureReturns(mean, np.maximum(square - mean**2, 0))


class Remaining(NamedTuple):
    """What a compiled run carries instead of an array over (stream, query, key). Float64.

    Fields:
        weight, square: sums of the weights and of their squares over the rows still to come, of all
            keys, written or not.
        rows: how many there are.

    Examples:
        >>> import jax
        >>> from fluidkv.tokenpd import Structure, generated
        >>> from fluidkv.tokenpd.attention.oracle import remaining
        >>> attention = generated(Structure(), seed=0, requests=1, prompt=1, length=2)
        >>> with jax.enable_x64(True):
        ...     left = remaining(attention.weights, attention.length)
        ...
        >>> left.weight.tolist(), left.rows.tolist()  # rows of (1, 0) and (1/2, 1/2)
        ([[1.5, 0.5]], [2])
    """

    weight: Float[Array, "stream key"]
    square: Float[Array, "stream key"]
    rows: Int[Array, " stream"]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


def remaining(
    weights: Float[Array, "stream query key"], length: Int[Array, " stream"]
) -> Remaining:
    """Before the first row; weights and lengths as of `Attention`. Under `in_float64`.

    Raises:
        InputError: more than 8,192 rows.

    Examples:
        >>> import jax
        >>> from fluidkv.tokenpd import Structure, generated
        >>> from fluidkv.tokenpd.attention.oracle import remaining
        >>> attention = generated(Structure(), seed=0, requests=1, prompt=1, length=2)
        >>> with jax.enable_x64(True):
        ...     left = remaining(attention.weights, attention.length)
        ...
        >>> left.weight.tolist(), left.square.tolist()
        ([[1.5, 0.5]], [[1.25, 0.25]])
    """
    rows = _few(weights.shape[1])
    inside = jnp.arange(rows)[None, :, None] < length[:, None, None]
    true = jnp.where(inside, weights, 0).astype(jnp.float64)
    return Remaining(_in_units(true).sum(1), _in_units(true**2).sum(1), length.astype(jnp.int64))


def after_row(
    left: Remaining, row: Float[Array, "stream key"], runs: Bool[Array, " stream"]
) -> Remaining:
    """What is left when the streams that run have computed their next row. Under `in_float64`.

    Args:
        row: its true weights, whatever was evicted; of streams that do not run it is not read.

    Examples:
        >>> import jax
        >>> from fluidkv.tokenpd import Structure, generated
        >>> from fluidkv.tokenpd.attention.oracle import after_row, remaining
        >>> attention = generated(Structure(), seed=0, requests=1, prompt=1, length=2)
        >>> with jax.enable_x64(True):
        ...     left = remaining(attention.weights, attention.length)
        ...     left = after_row(left, attention.weights[:, 0], np.array([True]))
        ...
        >>> left.weight.tolist(), left.rows.tolist()
        ([[0.5, 0.5]], [1])
    """
    weight = jnp.where(runs[:, None], row.astype(jnp.float64), 0)
    return Remaining(
        left.weight - _in_units(weight),
        left.square - _in_units(weight**2),
        left.rows - runs.astype(left.rows.dtype),
    )


def mean_and_variance(
    left: Remaining,
) -> tuple[Float[Array, "stream key"], Float[Array, "stream key"]]:
    """R and sigma^2 of all keys, of those that are not yet written too.

    Examples:
        >>> import jax
        >>> from fluidkv.tokenpd import Structure, generated
        >>> from fluidkv.tokenpd.attention.oracle import mean_and_variance, remaining
        >>> attention = generated(Structure(), seed=0, requests=1, prompt=1, length=2)
        >>> with jax.enable_x64(True):
        ...     left = remaining(attention.weights, attention.length)
        ...     mean, variance = mean_and_variance(left)
        ...
        >>> mean.tolist(), variance.tolist()
        ([[0.75, 0.25]], [[0.0625, 0.0625]])
    """
    count = jnp.maximum(left.rows, 1)[:, None].astype(jnp.float64)
    mean = left.weight / count
    return mean, jnp.maximum(left.square / count - mean**2, 0)


def _in_units(numbers: Float[Array, "*any"]) -> Float[Array, "*any"]:
    return jnp.round(numbers / UNIT) * UNIT


def _few(rows: int) -> int:
    if rows > _MOST_ROWS:
        raise InputError("weights", f"{rows} rows", f"at most {_MOST_ROWS}, for sums to be exact")
    return rows


def _real_rows(attention: Attention) -> Float[np.ndarray, "stream query key"]:
    """The weights in float64, rows after a stream's end left out."""
    inside = np.arange(_few(attention.weights.shape[1])) < attention.length[:, None]
    return np.where(inside[:, :, None], attention.weights, 0).astype(np.float64)


def _rounded(
    weights: Float[np.ndarray, "stream query key"],
) -> Float[np.ndarray, "stream query key"]:
    return np.round(weights / UNIT) * UNIT


def _after(weights: Float[np.ndarray, "stream query key"]) -> Float[np.ndarray, "stream query key"]:
    """Sums over the rows after each one."""
    from_it_on = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]
    return from_it_on - weights
