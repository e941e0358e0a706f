"""1 / eta of many boundary queues at once, in floats: what makes a sweep over segments fast.

Source: WAIT, appendix C.4 (equation 20). `boundary_queue` certifies the same root in a ball.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MOST_PROMPTS = 2**53
"""Above it floats do not tell one number of prompts from the next."""


def inverse_etas(n_prev: Floats, p: Floats, q: Floats, n: Floats, drift: Floats) -> Floats:
    """1 / eta of each queue to some ten digits; 0 where eta is infinite.

    Newton's steps from the right of the root, as in `boundary_queue`. Of the two shares p and q
    the smaller one enters the logarithm, so that 1 is not taken from a number beside it; where eta
    is small, f is given by its first terms, since the logarithm would lose what is left of the
    drift.

    Args:
        n_prev, n: of `eta`, at most `MOST_PROMPTS`, shape (queues,).
        p, q: of `eta` and 1 - p, each above 0 (q may be 0 where eta is infinite) and computed
            exactly before it was rounded: with n_prev of 1e16, q may be below a rounding of p.
        drift: n - p n_prev, above 0, likewise.
    """
    inverse = np.zeros(len(p))
    finite = n < n_prev
    n_prev, p, q, n, drift = (np.asarray(x, dtype=float)[finite] for x in (n_prev, p, q, n, drift))
    x = -np.where(q < 0.5, np.log1p(-q), np.log(p)) * n_prev / (n_prev - n)
    for _ in range(200):  # a step halves x at worst; 2^-200 is beyond any drift
        decay = np.exp(-x)
        # ln(p + q e^-x) + q x, by way of the smaller share
        far = q * x + np.where(q < 0.5, np.log1p(q * np.expm1(-x)), np.log(p + q * decay))
        near = np.log1p(p * np.expm1(np.minimum(x, 1.0))) - p * x
        log = np.where((x > 1) | (q < 0.5), far, near)
        series = p * q * x**2 * (1 / 2 + x * ((q - p) / 6 + x * (1 - 6 * p * q) / 24))
        # the next term is at most x^5 / 120, 1e-9 of the first at 1e-3
        f = n_prev * np.where(x < 1e-3, series, log) - drift * x
        # p/(p + q e^-x) - p, times n_prev, less the drift: no large numbers cancel
        slope = -n_prev * p * q * np.expm1(-x) / (p + q * decay) - drift
        step = np.where(slope > 0, f / np.where(slope > 0, slope, 1.0), 0.0)
        x = x - step
        if np.all(np.abs(step) <= 1e-12 * x):
            break
    inverse[finite] = 1 / x
    return inverse
