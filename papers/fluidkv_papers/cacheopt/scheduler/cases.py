"""What is left is shared out: the three cases (CacheOPT, 3.3.2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fluidkv_papers.cacheopt.scheduler.settings import Weights


@dataclass(frozen=True)
class Wish:
    """What somebody asks for.

    Fields:
        least, most: tokens. Less than the least is of no use; M, its demand, is the most.
        remaining_time: RT, until its next objective passes.
        prompt, predicted: s^p, and the outputs that it is predicted to have.
    """

    least: int
    most: int
    remaining_time: float
    prompt: int
    predicted: int


def shared(available: int, wishes: Sequence[Wish], weights: Weights, block: int) -> list[int]:
    """What each gets, in whole blocks, where all get at least their least.

    Cases 1 and 2: all that it asks for. Case 3: its share, but no less than its least and no more
    than its most; what these bounds take or leave is shared by the same weights, so that all of
    memory is given, but for less than a block each.

    Args:
        available: A', tokens, at least the sum of what all need at least.
        wishes: of whom.
        weights: by which printed or described rule.
        block: B.
    """
    excess = sum(wish.most for wish in wishes) - available
    if excess <= 0:
        return [wish.most for wish in wishes]
    by = weighed(wishes, weights)
    if weights is Weights.PRINTED:
        level = _level(available, [(w, x.least, x.most) for w, x in zip(by, wishes, strict=True)])
        given = [_between(w * level, x) for w, x in zip(by, wishes, strict=True)]
    else:
        cuts = [(w, 0, x.most - x.least) for w, x in zip(by, wishes, strict=True)]
        level = _level(excess, cuts)
        given = [_between(x.most - w * level, x) for w, x in zip(by, wishes, strict=True)]
    return [_whole(tokens, x, block) for tokens, x in zip(given, wishes, strict=True)]


def weighed(wishes: Sequence[Wish], weights: Weights) -> list[float]:
    """w_i, which add up to 1.

    A time that has passed counts as almost none, one that never passes as the longest finite one.
    """
    finite = [w.remaining_time for w in wishes if w.remaining_time < math.inf]
    longest = max(max(finite, default=1.0), _SOON)
    times = [min(max(w.remaining_time, _SOON), longest) for w in wishes]
    sizes = [w.prompt if weights is Weights.PRINTED else w.predicted for w in wishes]
    found = [t / sum(times) * s / sum(sizes) for t, s in zip(times, sizes, strict=True)]
    return [w / sum(found) for w in found]


_SOON = 1e-6


def _level(total: float, parts: Sequence[tuple[float, int, int]]) -> float:
    """The level x at which the amounts w x, each kept between its bounds, add up to the total.

    The sum does not fall in x; between two places where a part meets a bound it is a line.
    """

    def amount(x: float) -> float:
        return sum(min(max(w * x, low), high) for w, low, high in parts)

    corners = sorted(bound / w for w, low, high in parts for bound in (low, high))
    below = 0.0
    for corner in corners:
        if amount(corner) >= total:
            slope = sum(w for w, low, high in parts if low < w * (below + corner) / 2 < high)
            return min(corner, below + (total - amount(below)) / slope) if slope else corner
        below = corner
    return below


def _between(tokens: float, wish: Wish) -> float:
    return min(max(tokens, wish.least), wish.most)


def _whole(tokens: float, wish: Wish, block: int) -> int:
    """Down to whole blocks, but to no less than the least."""
    blocks = int((tokens + _SOON) // block) * block
    return max(wish.least, min(blocks, wish.most))
