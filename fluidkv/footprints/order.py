"""Requests that come in an order: the spectrum of their growths, in place of independent draws.

Let growths come in a stationary order: of two requests k apart the growths are (i, j) with chance
rho_k p_i [i = j] + (1 - rho_k) p_i p_j. Batches of N requests of one growth, one after the other,
have

    rho_k = E max(0, N - k) / E N,

and a request that repeats the growth before it with chance r has rho_k = r^k. A full server that
admits u an iteration admits the two k / u iterations apart. So what differs between growths adds up
over the order, and what steps draw does not: at z = exp(-i w), with P_i and Q_i the mean footprint
of growth i, the variance between growths counts f times,

    E|P|^2  ->  E|P|^2 + (f - 1) (E|P_i|^2 - |A|^2),     f(w) = sum over k of rho_k exp(-i w k / u),

and so do E|Q|^2 and E Q conj(P); slack is as it was. f is 1 where requests are independent, and on
average over the circle where no two of them are admitted in one iteration; for slow modes it is
E N^2 / E N, as many times the variance as the mean batch that a request is in.

Proof. The noise of the linear map is the sum over requests of P - A, and of Q - B, at the iteration
of each. Given the growths, steps are independent, so that the first has the spectrum

    u (E|P - P_i|^2 + sum over k of exp(-i w k / u) E(P_i - A) conj(P_j - A)),

with i and j the growths of requests k apart; that mean is rho_k (E|P_i|^2 - |A|^2) by the law of
the order. The others are alike.

In the limit of large M this is a theorem as the independent case is, with batches in proportion to
u. Beside it: that admissions are u an iteration while batches last. Where a batch is a good part of
what runs, the server follows it, and the linear map is left.
"""

import math
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from fluidkv.errors import InputError
from fluidkv.footprints.circle import CircleMoments


def batch_correlation(alike: Sequence[float]) -> Float[np.ndarray, " lag"]:
    """rho_k, k = 1, 2, ..., where so many requests in a row have one growth.

    Args:
        alike: chances of batches of 1, 2, ... requests; sum 1.

    Raises:
        InputError: chances below 0, or whose sum is not 1.

    Examples:
        >>> from fluidkv.footprints import batch_correlation
        >>> batch_correlation([0, 0, 1])  # always three
        array([0.66666667, 0.33333333])
    """
    chances = np.asarray(alike, float)
    if chances.ndim != 1 or not (chances >= 0).all() or abs(chances.sum() - 1) > 1e-9:
        raise InputError("alike", alike, "chances of at least 0 that sum to 1")
    sizes = np.arange(1, len(chances) + 1)
    beyond = np.maximum(0, sizes[None] - sizes[:-1, None])  # N - k
    return beyond @ chances / (sizes @ chances)


def order_spectrum(
    correlation: Sequence[float] | Float[np.ndarray, " lag"], rate: float, points: int
) -> Float[np.ndarray, " frequency"]:
    """f at w = 2 pi k / N, k = 0 ... N/2, of a server that admits `rate` an iteration.

    Whole iterations: k / u is rounded down or up, as often as makes the mean.

    Args:
        correlation: rho_1, rho_2, ...; 0 behind the last.
        rate: u, above 0.
        points: N, even.

    Raises:
        InputError: a rate of 0 or below; numbers that are the correlation of no order: f is below
            0 somewhere.

    Examples:
        >>> from fluidkv.footprints.order import order_spectrum
        >>> order_spectrum([0.5], rate=1.0, points=4)  # 1 + cos w
        array([2., 1., 0.])
    """
    if not 0 < rate < math.inf:
        raise InputError("rate", rate, "a finite number above 0")
    rho = np.asarray(correlation, float)
    apart = np.arange(1, len(rho) + 1) / rate
    whole = np.floor(apart).astype(int)
    up = rho * (apart - whole)
    lags = np.bincount(whole % points, rho - up, points)
    lags += np.bincount((whole + 1) % points, up, points)
    density = 1 + 2 * np.fft.rfft(lags).real
    if not density.min() > -1e-9:
        raise InputError("correlation", correlation, "one whose spectrum is nowhere below 0")
    return np.maximum(density, 0.0)


def correlated(
    moments: CircleMoments, means: CircleMoments, order: Float[np.ndarray, " frequency"]
) -> CircleMoments:
    """Moments in which what differs between growths counts as their order has it.

    Args:
        moments: of requests.
        means: of the mean footprint of each growth (`circle_moments` without steps).
        order: f.
    """
    A, B, *powers = (np.asarray(moment) for moment in moments)
    of_mean = abs(A) ** 2, abs(B) ** 2, B * A.conj()
    in_order = (
        power + (order - 1) * (np.asarray(of_growths) - of_all)
        for power, of_growths, of_all in zip(powers, means[2:], of_mean, strict=True)
    )
    return CircleMoments(moments.memory, moments.running, *map(jnp.asarray, in_order))
