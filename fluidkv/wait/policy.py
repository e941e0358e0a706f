"""The two policies of the paper, as values: how many requests wait for each other.

Source: WAIT, Algorithm 1 (section 4.2) and Algorithm 2 (section 5.1).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from fluidkv.errors import InputError
from fluidkv.wait.model import count, several


@dataclass(frozen=True)
class Wait:
    """A type joins the batch when enough of its prompts wait for their prefill.

    It then brings that many prompts at each of its stages.

    Args:
        thresholds: n_j, by class index; each at least 1.

    Raises:
        InputError: no threshold, or one below 1.

    Source: WAIT, Algorithm 1.

    Examples:
        >>> policy = fk.wait.Wait([4, 2])
        >>> policy.thresholds, policy.label
        ((4, 2), 'WAIT')
    """

    thresholds: tuple[int, ...]

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(self, thresholds: Iterable[int]) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "thresholds", _thresholds(self.thresholds))

    @property
    def label(self) -> str:
        return "WAIT"


@dataclass(frozen=True)
class NestedWait:
    """Segments run while enough prompts wait before each; the first that lacks them ends the batch.

    The batch takes up to n_k prompts at each stage of every segment before that one; the segment
    and all later ones pause and keep their caches.

    Args:
        ends: the last stage of each segment, increasing, the first at least 1; no output is longer
            than the last.
        thresholds: n_k, one for each segment, each at least 1.

    Raises:
        InputError: ends that do not increase, or thresholds that are not one for each, at least 1.

    Source: WAIT, Algorithm 2.

    Examples:
        >>> policy = fk.wait.NestedWait(ends=[1, 3], thresholds=[9, 4])
        >>> policy.starts, policy.ends  # stages 0 and 1, then 2 and 3
        ((0, 2), (1, 3))
    """

    ends: tuple[int, ...]
    thresholds: tuple[int, ...]

    if TYPE_CHECKING:

        def __init__(self, ends: Iterable[int], thresholds: Iterable[int]) -> None: ...

    def __post_init__(self) -> None:
        ends = tuple(
            count("ends", end) for end in several("ends", self.ends, "increasing output lengths")
        )
        if not ends or any(b <= a for a, b in pairwise(ends)):
            raise InputError("ends", list(ends), "increasing output lengths, at least one")
        thresholds = _thresholds(self.thresholds)
        if len(thresholds) != len(ends):
            raise InputError("thresholds", list(thresholds), f"{len(ends)}, one for each segment")
        object.__setattr__(self, "ends", ends)
        object.__setattr__(self, "thresholds", thresholds)

    @property
    def starts(self) -> tuple[int, ...]:
        """The first stage of each segment."""
        return (0, *(end + 1 for end in self.ends[:-1]))

    @property
    def label(self) -> str:
        return "Nested WAIT"


Policy = Wait | NestedWait
"""What `run_policy` runs."""


def _thresholds(values: Iterable[int]) -> tuple[int, ...]:
    given = several("thresholds", values, "integers of at least 1")
    found = tuple(count("thresholds", value) for value in given)
    if not found:
        raise InputError("thresholds", [], "at least one")
    return found
