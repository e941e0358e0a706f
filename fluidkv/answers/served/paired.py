"""Two servers against each other on the same requests: differences are taken run by run."""

import math

import numpy as np
from jaxtyping import Float

CONFIDENCE = 0.95
"""Of the two-sided interval for a difference; for each pair by itself, not for all at once."""


def difference(
    first: Float[np.ndarray, " run"], second: Float[np.ndarray, " run"]
) -> tuple[float, float]:
    """Mean of first - second over runs of the same requests, and half the width of its interval.

    Student's t at `CONFIDENCE`. One run says nothing about noise: the half width is then 0, so that
    only equal numbers are a tie. NaN in either gives NaN.
    """
    from scipy.stats import t  # half a second; only who compares pays for it

    gaps = np.asarray(first, float) - np.asarray(second, float)
    mean = float(gaps.mean())
    if gaps.size < 2:
        return mean, 0.0 if math.isfinite(mean) else math.nan
    error = float(gaps.std(ddof=1)) / math.sqrt(gaps.size)
    return mean, float(t.ppf((1 + CONFIDENCE) / 2, gaps.size - 1)) * error


def within_noise(first: Float[np.ndarray, " run"], second: Float[np.ndarray, " run"]) -> bool:
    """Whether the runs do not tell the two apart."""
    mean, half = difference(first, second)
    return abs(mean) <= half
