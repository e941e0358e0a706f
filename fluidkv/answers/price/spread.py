"""One policy against another: the difference in mass kept, and whether it exceeds noise.

Both see the same requests. Of several seeds, the differences of their means are taken seed by seed
(Student). Of one set of requests, as a file has, requests are drawn again with replacement
(bootstrap): this says how much the requests differ, not what other requests would bring.
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from fluidkv.answers.price.result import Difference
from fluidkv.answers.served.paired import CONFIDENCE

_ROUNDING = 1e-9  # of masses, which are summed in another order by another policy
_DRAWS = 4000  # the end of an interval then moves by about 2 % of its width between seeds


def _difference(mean: float, low: float, high: float, over: str) -> Difference:
    return Difference(mean, low, high, over, low > _ROUNDING or high < -_ROUNDING)


Masses = Sequence[Float[np.ndarray, " request"]]
"""Of each run, the mass that each of its requests keeps."""


def difference(first: Masses, second: Masses, *, comparisons: int = 1) -> Difference:
    """The mass kept in the first, less that in the second.

    Args:
        first, second: of the same requests.
        comparisons: that are made together, all of which the intervals hold for (Bonferroni).
    """
    level = (1 - CONFIDENCE) / comparisons
    gaps = [a - b for a, b in zip(first, second, strict=True)]
    means = np.array([gap.mean() for gap in gaps])
    mean = float(means.mean())
    if len(gaps) > 1:
        half = _student(means, level)
        return _difference(mean, mean - half, mean + half, "seeds")
    return _difference(mean, *_bootstrap(gaps[0], level), "requests")


def fewest(level: float = 1 - CONFIDENCE) -> int:
    """Requests from which on an interval is given.

    Of n differences that mean nothing all have one sign with probability 2^(1-n), and resampling
    would call that a difference: it has to be rarer than the level.
    """
    return 1 + math.ceil(-math.log2(level))


def _student(means: Float[np.ndarray, " run"], level: float) -> float:
    from scipy.stats import t

    error = means.std(ddof=1) / math.sqrt(means.size)
    return float(t.ppf(1 - level / 2, means.size - 1) * error)


def _bootstrap(gaps: Float[np.ndarray, " request"], level: float) -> tuple[float, float]:
    if gaps.size < fewest(level):
        return -math.inf, math.inf
    draw = np.random.default_rng(0)  # of the interval alone; the same numbers at each call
    drawn = gaps[draw.integers(gaps.size, size=(_DRAWS, gaps.size))].mean(axis=1)
    low, high = np.quantile(drawn, [level / 2, 1 - level / 2])
    return float(low), float(high)
