"""Two servers against each other on the same requests: differences are taken run by run."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fluidkv.plain import finite
from fluidkv.record import Record

CONFIDENCE = 0.95
"""Of the two-sided interval for a difference; for each pair by itself, not for all at once.

>>> from fluidkv.answers.served.paired import CONFIDENCE
>>> print(f"{1 - CONFIDENCE:.0%} of the intervals miss the mean")
5% of the intervals miss the mean
"""


def difference(
    first: Float[np.ndarray, " run"], second: Float[np.ndarray, " run"]
) -> tuple[float, float]:
    """Mean of first - second over runs of the same requests, and half the width of its interval.

    Student's t at `CONFIDENCE`. One run says nothing about noise: the half width is then 0, so that
    only equal numbers are a tie. NaN in either gives NaN.

    Examples:
        >>> from fluidkv.answers.served.paired import difference
        >>> mean, half = difference(np.array([3.0, 5.0, 4.0]), np.array([1.0, 4.0, 4.0]))
        >>> mean, round(half, 2)  # +-2.48 around 1: three runs do not tell it from 0
        (1.0, 2.48)
    """
    from scipy.stats import t  # half a second; only who compares pays for it

    gaps = np.asarray(first, float) - np.asarray(second, float)
    mean = float(gaps.mean())
    if gaps.size < 2:
        return mean, 0.0 if math.isfinite(mean) else math.nan
    error = float(gaps.std(ddof=1)) / math.sqrt(gaps.size)
    return mean, float(t.ppf((1 + CONFIDENCE) / 2, gaps.size - 1)) * error


def gained(value: float, base: float) -> float:
    """A value over a base, relative; infinite where the base is 0 and the value is not.

    Examples:
        >>> from fluidkv.answers.served.paired import gained
        >>> gained(3.0, 2.0), gained(3.0, 0.0), gained(0.0, 0.0)
        (0.5, inf, 0.0)
    """
    if base:
        return value / base - 1
    return math.copysign(math.inf, value) if value else 0.0


def within_noise(first: Float[np.ndarray, " run"], second: Float[np.ndarray, " run"]) -> bool:
    """Whether the runs do not tell the two apart."""
    mean, half = difference(first, second)
    return abs(mean) <= half


@dataclass(frozen=True, eq=False)
class Against(Record):
    """A metric of each case less that of the first, run by run.

    Fields:
        mean: over runs.
        half: half of the interval of that mean at `CONFIDENCE` (Student).
        wide: the same for all cases and metrics that are aimed at together (Bonferroni).
        relative: whether in parts of the first case's mean.
    """

    mean: Float[np.ndarray, " case"]
    half: Float[np.ndarray, " case"]
    wide: Float[np.ndarray, " case"]
    relative: bool

    def row(self, index: int) -> dict[str, Any]:
        """Plain values for JSON."""
        said = {name: float(getattr(self, name)[index]) for name in ("mean", "half", "wide")}
        return finite(said | {"relative": self.relative})


def against_first(
    values: Float[np.ndarray, "case run"],
    *,
    comparisons: int,
    relative: bool,
    widen: float = 1.0,
) -> Against:
    """Differences from the first case, pair by pair.

    Args:
        values: of a metric.
        comparisons: that are made together.
        relative: in parts of the first case's mean.
        widen: of intervals, for runs that are draws of one log; `fresh.Days` has it.

    Returns:
        NaN where a run has no value; half and wide are NaN of a single run.
    """
    from scipy.stats import t  # half a second; only who compares pays for it

    runs = values.shape[1]
    gaps = values - values[0]
    scale = values[0].mean() if relative else 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = gaps.mean(axis=1) / scale
        if runs < 2:
            none = np.full(len(values), np.nan)
            return Against(mean, none, none, relative)
        error = gaps.std(axis=1, ddof=1) / np.sqrt(runs) / abs(scale)
    level = 1 - CONFIDENCE
    half, wide = (t.ppf(1 - level / 2 / n, runs - 1) for n in (1, max(1, comparisons)))
    return Against(mean, half * error * widen, wide * error * widen, relative)
