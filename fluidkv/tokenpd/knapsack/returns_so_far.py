"""Returns that are revealed with a delay: what a predictor may have seen of them by each round."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.plain import plain_tuple
from fluidkv.runs.checks import count
from fluidkv.tokenpd.knapsack.pool import Pool


class Revealed(NamedTuple):
    """What is known of each token when a round's choice is made.

    Fields:
        times: returns revealed of it so far; where it is 0, last and mean are 0.
        last, mean: the newest of them, and all of them averaged.

    Examples:
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv.tokenpd.knapsack.returns_so_far import revealed_returns
        >>> returns, risk = [[1], [0.5], [0]], np.zeros((3, 1))
        >>> pool = Pool(returns, request=[0], arrival=[0], end=[3], risk=risk)
        >>> known = revealed_returns(pool, delay=1)
        >>> known.times.ravel().tolist(), known.last.ravel().tolist(), known.mean.ravel().tolist()
        ([0, 1, 2], [0.0, 1.0, 0.5], [0.0, 1.0, 0.75])
    """

    times: Int[np.ndarray, "round token"]
    last: Float[np.ndarray, "round token"]
    mean: Float[np.ndarray, "round token"]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


def revealed_returns(pool: Pool, delay: int = 1) -> Revealed:
    """The returns R of rounds up to `delay` rounds ago, in which the token was present.

    Args:
        delay: 0 shows a round before its choice, as Appendix A; 1 after it, as section 3.

    Every token that is present is revealed, kept or not, as in the paper. (Of real attention, what
    an evicted key would have had is not known.)

    Raises:
        InputError: a delay below 0.

    Examples:
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv.tokenpd.knapsack.returns_so_far import revealed_returns
        >>> returns, risk = [[1], [0.5], [0]], np.zeros((3, 1))
        >>> pool = Pool(returns, request=[0], arrival=[0], end=[3], risk=risk)
        >>> {delay: revealed_returns(pool, delay).last.ravel().tolist() for delay in (0, 1)}
        {0: [1.0, 0.5, 0.0], 1: [0.0, 1.0, 0.5]}
    """
    delay = count("delay", delay, least=0)
    rounds = len(pool.returns)
    shown = np.where(pool.present, pool.returns, 0.0)
    times, sums = pool.present.cumsum(axis=0, dtype=np.int64), shown.cumsum(axis=0)
    row = np.where(pool.present, np.arange(rounds)[:, None], 0)
    latest = np.maximum.accumulate(row, axis=0) if rounds else row
    last = np.take_along_axis(shown, latest, axis=0)
    mean = sums / np.maximum(times, 1)
    return Revealed(*(_later(values, delay) for values in (times, last, mean)))


def _later(values: np.ndarray, delay: int) -> np.ndarray:
    """Each row so many rounds later; zeros before."""
    moved = np.zeros_like(values)
    moved[delay:] = values[: max(0, len(values) - delay)]
    return moved
