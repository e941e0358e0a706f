"""Times of calls: the best, the median, and whether something else disturbed them."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

_DISTURBED = 1.2
"""A median so many times the best says that the machine did something else meanwhile."""


@dataclass(frozen=True)
class Times:
    """Seconds of several calls of the same thing.

    What else a machine does can only add to a time, so that `best` is nearest to the code's own;
    `median` is what a user met.
    """

    best: float
    median: float
    calls: int

    @property
    def disturbed(self) -> bool:
        """Whether calls of the same thing took so unlike times that no ratio of them is exact."""
        return self.median > _DISTURBED * self.best


def times(call: Callable[[], object], *, calls: int, warm_up: int = 1) -> Times:
    """Time `call`, after `warm_up` calls that do not count."""
    return alternating({"": call}, calls=calls, warm_up=warm_up)[""]


def alternating(
    each: Mapping[str, Callable[[], object]], *, calls: int, warm_up: int = 1
) -> dict[str, Times]:
    """Time several ways in turn, so that what disturbs one disturbs the others too."""
    taken: dict[str, list[float]] = {way: [] for way in each}
    for number in range(-warm_up, calls):
        for way, call in each.items():
            start = time.perf_counter()
            call()
            if number >= 0:
                taken[way].append(time.perf_counter() - start)
    return {way: Times(min(all_of), median(all_of), calls) for way, all_of in taken.items()}
