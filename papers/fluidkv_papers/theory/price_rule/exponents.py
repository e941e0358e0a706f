"""Powers of T that long runs follow: fitted where that means something, with an interval.

The mean over seeds at each T is fitted by least squares, log |mean| = a + e log T, each T counting
the same. The interval is of a bootstrap: seeds (or blocks of seeds) are drawn with replacement at
each T, apart from those at the others, as runs of different lengths are different runs; the
interval is between the 2.5 and 97.5 percentiles. Slopes of single seeds are not averaged, since a
seed's regret may be negative, and has then no logarithm.

So the interval says what other seeds would have given on these lengths. It does not say that the
power is right beyond them, or between them: `steps`, the slopes from each T to the next, show
where it bends.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fluidkv.errors import InputError
from fluidkv.runs.checks import count, floats

RESAMPLES = 2000
LEVEL = 0.95


@dataclass(frozen=True)
class Exponent:
    """A power of T.

    Fields:
        sign: 1 if the mean is above 0 at every T and in every resample; -1 if it is below 0: then
            what is fitted is the gain. 0 where there is no power: nothing else is said then.
        power, low, high: e and its interval; low = high = e where all seeds are alike.
        factor: exp(a), so that the mean is about sign factor T^power.
        steps: slopes between neighbouring T.
        means: at each T. horizons: the T.
    """

    sign: int
    power: float
    low: float
    high: float
    factor: float
    steps: tuple[float, ...]
    means: tuple[float, ...]
    horizons: tuple[int, ...]


def fit_exponent(
    samples: Mapping[int, Float[np.ndarray, " seed"]],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Exponent:
    """The power of T that the mean follows.

    Args:
        samples: T -> what each seed came to, or the mean of each block of as many seeds.
        seed: of the bootstrap.
        resamples: how many.

    Raises:
        InputError: fewer than two T, one below 1, one without a seed, or what is no finite number.
    """
    horizons = tuple(sorted(samples))
    count("resamples", resamples)
    if len(horizons) < 2 or horizons[0] < 1:
        raise InputError("samples", horizons, "two or more numbers of rounds")
    finite = "finite numbers of each length"
    columns = [floats("samples", samples[horizon], finite) for horizon in horizons]
    if not all(np.isfinite(column).all() for column in columns):
        raise InputError("samples", samples, finite)
    if not all(column.size for column in columns):
        raise InputError("samples", [column.size for column in columns], "a seed at each length")
    means = np.array([column.mean() for column in columns])
    rng = np.random.default_rng(seed)
    again = np.stack([_resampled(column, resamples, rng) for column in columns], axis=1)
    every = np.vstack([means[None], again])
    sign = int((every > 0).all()) - int((every < 0).all())
    if not sign:
        nan = float("nan")
        return Exponent(0, nan, nan, nan, nan, (), tuple(means.tolist()), horizons)
    logs = np.log(np.array(horizons, np.float64))
    powers = _slopes(logs, np.log(sign * every))
    low, high = np.quantile(powers[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    found = np.log(sign * means)
    return Exponent(
        sign,
        float(powers[0]),
        float(low),
        float(high),
        float(np.exp(found.mean() - powers[0] * logs.mean())),
        tuple((np.diff(found) / np.diff(logs)).tolist()),
        tuple(means.tolist()),
        horizons,
    )


def _resampled(
    column: Float[np.ndarray, " seed"], resamples: int, rng: np.random.Generator
) -> Float[np.ndarray, " resample"]:
    """Means of as many seeds, drawn with replacement."""
    if (column == column[0]).all():  # exactly so: no sum of equal numbers is rounded
        return np.full(resamples, column[0])
    return column[rng.integers(column.size, size=(resamples, column.size))].mean(axis=1)


def _slopes(
    logs: Float[np.ndarray, " horizon"], values: Float[np.ndarray, "sample horizon"]
) -> Float[np.ndarray, " sample"]:
    """Of least squares."""
    centred = logs - logs.mean()
    return values @ centred / (centred @ centred)
