"""One policy held against another: the difference in mass kept, and whether it is one at all.

Both see the same requests. Of several seeds, the differences of their means are taken seed by seed
(Student). Of one set of requests, as a file has, requests are drawn again with replacement
(bootstrap): this says how much the requests differ, not what other requests would bring.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fluidkv.answers.served.paired import CONFIDENCE
from fluidkv.record import Record

_ROUNDING = 1e-9  # of masses, which are summed in another order by another policy
_DRAWS = 4000  # the end of an interval then moves by about 2 % of its width between seeds


@dataclass(frozen=True)
class Difference(Record):
    """The mean mass that one policy keeps, less that of another.

    Fields:
        mean: in parts of all attention mass.
        low, high: the interval at `CONFIDENCE`; infinite where there is too little to say.
        over: what was drawn: "seeds" or "requests".

    Examples:
        >>> from fluidkv.answers import generated_attention
        >>> small = generated_attention("uneven", requests=3, prompt=2, length=6, seeds=2)
        >>> answer = fk.price_tokens(small, 5, policies=["return", "return-pooled"])
        >>> found = answer.pick.brings[0].mass
        >>> round(found.mean, 3), found.over, found.known, found.told  # two seeds do not tell
        (0.028, 'seeds', True, False)
    """

    mean: float
    low: float
    high: float
    over: str

    @property
    def told(self) -> bool:
        """Whether it is a difference: the interval is on one side of 0, rounding apart."""
        return self.low > _ROUNDING or self.high < -_ROUNDING

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "mean": self.mean,
            "low": self.low if self.known else None,
            "high": self.high if self.known else None,
            "over": self.over,
            "told": self.told,
        }


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
        return Difference(mean, mean - half, mean + half, "seeds")
    return Difference(mean, *_bootstrap(gaps[0], level), "requests")


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
