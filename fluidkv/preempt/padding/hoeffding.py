"""Padding that promises a confidence by Hoeffding's inequality, and the confidence for a load.

Source: CacheOPT, section 3.2, (1) to (4).
"""

from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.runs.checks import floats

Number = TypeVar("Number", float, Fraction, Float[np.ndarray, "..."])


def hoeffding_padding(
    confidence: ArrayLike, low: ArrayLike, high: ArrayLike
) -> Float[np.ndarray, "..."]:
    """t of (3): sqrt(-(b - a)^2 ln(1 - c) / 2), tokens.

    One variable in [a, b] passes its mean by t or more with probability 1 - c at most. From
    c = 1 - e^-2 = 0.865 on, t is b - a or more.

    Args:
        confidence: c, in [0, 1).
        low, high: a and b, tokens; arrays broadcast.

    Raises:
        InputError: a confidence outside of this (at 1 the padding is infinite), b below a.

    Examples:
        >>> from fluidkv.preempt.padding.hoeffding import hoeffding_padding
        >>> hoeffding_padding([0, 0.5, 0.9], 100, 200).round(1).tolist()
        [0.0, 58.9, 107.3]
    """
    c = floats("confidence", confidence, "numbers in [0, 1)")
    if not ((c >= 0) & (c < 1)).all():
        raise InputError("confidence", confidence, "in [0, 1); at 1 the padding is infinite")
    a, b = (floats(name, x, "tokens") for name, x in (("low", low), ("high", high)))
    if not (np.isfinite(a).all() and np.isfinite(b).all() and (b >= a).all()):
        raise InputError("high", high, "finite, and at least the low end of its interval")
    return (b - a) * np.sqrt(-np.log1p(-c) / 2)


def least_padding(
    confidence: ArrayLike, predicted: ArrayLike, low: ArrayLike, high: ArrayLike
) -> Float[np.ndarray, "..."]:
    """The least padding that keeps the promise for every length in [a, b] of that mean.

    min(b - m, (m - a) c / (1 - c)), which is never more than (3): by Markov's inequality for X - a,
    and with equality where a request has the least length or another one only.

    Args:
        confidence: c, in [0, 1).
        predicted: m, the mean, tokens, in [a, b].
        low, high: a and b, tokens.

    Raises:
        InputError: as `hoeffding_padding`; a mean outside of [a, b].

    Examples:
        >>> from fluidkv.preempt import least_padding
        >>> from fluidkv.preempt.padding.hoeffding import hoeffding_padding
        >>> paddings = least_padding(0.5, 120, 100, 200), hoeffding_padding(0.5, 100, 200)
        >>> [round(float(tokens), 1) for tokens in paddings]
        [20.0, 58.9]
    """
    hoeffding_padding(confidence, low, high)
    c, a, b = (np.asarray(x, float) for x in (confidence, low, high))
    mean = floats("predicted", predicted, "tokens")
    if not ((a <= mean) & (mean <= b)).all():
        raise InputError("predicted", predicted, "from the low end to the high end of its interval")
    return np.minimum(b - mean, (mean - a) * c / (1 - c))


def confidence_at_rate(rate: Number, alpha: float | Fraction, beta: float | Fraction) -> Number:
    """c of (4): alpha / (1 + beta lambda); exact for Fractions.

    Args:
        rate: lambda, arrivals a unit of time, at least 0. The paper does not say which unit.
        alpha: largest confidence, in (0, 1].
        beta: how fast it falls, above 0, in that unit of time.

    Raises:
        InputError: a number outside of this.

    Examples:
        >>> from fluidkv.preempt.padding.hoeffding import confidence_at_rate
        >>> confidence_at_rate(Fraction(2), alpha=Fraction(9, 10), beta=Fraction(1, 4))
        Fraction(3, 5)
    """
    if not 0 < alpha <= 1:
        raise InputError("alpha", alpha, "in (0, 1]")
    if not 0 < beta < np.inf:
        raise InputError("beta", beta, "above 0 and finite")
    if not (np.asarray(rate, float) >= 0).all():
        raise InputError("rate", rate, "at least 0")
    most: Any = alpha  # what comes back is of the kind of the rate, which types cannot say
    return most / (1 + beta * rate)
