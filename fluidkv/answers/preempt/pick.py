"""Which combination to take, if any is better than what the engine does by more than noise.

Runs of all combinations serve the same requests, so that differences are taken run by run. Many
combinations are held against one, and the best of many looks better than it is: that something is
better is said with an interval that holds for all of them at once; that it is worse, with its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from fluidkv.answers.recommend.records import MARGIN
from fluidkv.answers.served.paired import Against, against_first
from fluidkv.record import Record

SHARES = ("recompute_tax", "attained", "attained_ttft", "attained_tbt")
"""Metrics whose differences are in parts of 1; others relative to the engine's own value."""


@dataclass(frozen=True)
class Aim(Record):
    """What is to be had.

    Fields:
        metric: of a run.
        sign: 1 where more is better, else -1.
        leads: whether it counts in the score; False: it only must not get worse.
    """

    metric: str
    sign: int
    leads: bool = True


@dataclass(frozen=True)
class Pick(Record):
    """What to take; numbers are indices of combinations, 0 is what the engine does.

    Fields:
        index: 0: leave it.
        better: those better in something by more than noise and `MARGIN`, and worse in nothing.
        close: of these, the ones that the runs do not tell from the pick.
        by: the first aim in which the pick is better; wins: runs in which it is.
        scores: of all combinations, the mean over runs; 0 of the first.
        untold: those that would be among `better`, but know what no option says that servers know.
    """

    index: int
    better: tuple[int, ...]
    close: tuple[int, ...]
    by: str | None
    wins: int
    scores: tuple[float, ...]
    untold: tuple[int, ...] = ()


def pick(
    values: Mapping[str, Float[np.ndarray, "combination run"]],
    aims: Sequence[Aim],
    against: Mapping[str, Against],
    allowed: Bool[np.ndarray, " combination"],
    margins: Mapping[str, float],
    oracles: Bool[np.ndarray, " combination"] | None = None,
) -> Pick:
    """Of what is better in an aim and worse in none, the one with the highest score.

    The score of a run is the sum over the aims that lead of log(value / the engine's), with the
    sign of the aim; of shares the difference.

    Args:
        values: metric -> values, the first combination's are the engine's own.
        aims: what is to be had.
        against: of the metrics aimed at, from `against_first`.
        allowed: combinations that may be taken.
        margins: metric -> least gain that counts, `MARGIN` where it is not named.
        oracles: combinations that are never taken, but named where they would be; None: none.
    """
    in_aim: dict[str, np.ndarray] = {}
    worse = ~allowed
    score = np.zeros_like(values[aims[0].metric])
    for aim in aims:
        gap, margin = against[aim.metric], max(MARGIN, margins.get(aim.metric, 0.0))
        gain = aim.sign * gap.mean
        in_aim[aim.metric] = gain > np.maximum(gap.wide, margin)  # False of NaN
        worse |= ~(gain >= -np.maximum(gap.half, MARGIN))
        if aim.leads:
            score += aim.sign * _score(values[aim.metric], gap.relative)
    scores = tuple(score.mean(axis=1).tolist())
    better = np.any(list(in_aim.values()), axis=0)
    known = np.ones_like(better) if oracles is None else ~oracles
    untold = tuple(np.flatnonzero(better & ~worse & ~known).tolist())
    taken = np.flatnonzero(better & ~worse & known)
    if not taken.size:
        return Pick(0, (), (), None, 0, scores, untold)
    best = int(taken[score[taken].mean(axis=1).argmax()])
    rest = against_first(
        np.vstack([score[best], score[taken]]), comparisons=taken.size, relative=False
    )
    near = abs(rest.mean[1:]) <= rest.wide[1:]
    close = tuple(int(i) for i in taken[near] if i != best)
    by = next(aim for aim in aims if in_aim[aim.metric][best])
    gaps = by.sign * (values[by.metric][best] - values[by.metric][0])
    wins = int((gaps > 0).sum())
    return Pick(best, tuple(taken.tolist()), close, by.metric, wins, scores, untold)


def _score(
    values: Float[np.ndarray, "combination run"], relative: bool
) -> Float[np.ndarray, "combination run"]:
    if not relative:
        return values - values[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(values / values[0])
