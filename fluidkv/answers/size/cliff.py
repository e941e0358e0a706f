"""How near an answer is to the cliff: how much less memory, or more load, until all is worse."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fluidkv.answers.size.sizes import Axis, Size
from fluidkv.record import Record

if TYPE_CHECKING:
    from fluidkv.answers.size.trials import Values

TIMES_WORSE = 2.0
"""A tail that is so many times what it is at the answer has gone over the cliff."""


@dataclass(frozen=True)
class Cliff(Record):
    """What lies beyond an answer, along one axis, among the sizes tried.

    Fields:
        metric: the tail that is looked at, in its worst run.
        at: its value at the answer.
        worse: the size nearest to the answer from which on it is `TIMES_WORSE` times that; None:
            none that was tried.
        value: the tail there.
        margin: by which share of the answer `worse` differs from it.
        preempts: the easiest size at which a run preempts; None: none does.
        preempts_margin: by which share of the answer it lies above (below 0: under) it.
    """

    metric: str
    at: float
    worse: Size | None
    value: float | None
    margin: float | None
    preempts: Size | None
    preempts_margin: float | None

    @property
    def times(self) -> float | None:
        """How many times worse."""
        return self.value / self.at if self.value is not None and self.at > 0 else None


def cliff_of(axis: Axis, answer: Size, tried: "Mapping[Size, Values]", metric: str) -> Cliff:
    """What lies beyond an answer.

    Args:
        axis: along which to look: less memory, faster arrivals, fewer replicas.
        answer: one of `tried`.
        tried: sizes that differ on this axis alone.
        metric: a tail.
    """
    order = axis.harder_first(list(tried))
    beyond = order[order.index(answer) :: -1]  # the answer, then ever harder ones
    at = float(tried[answer][metric].max())
    worst = {size: float(tried[size][metric].max()) for size in beyond}
    worse = next((size for size in beyond[1:] if not worst[size] < TIMES_WORSE * at), None)
    preempts = next((size for size in order[::-1] if tried[size]["preemptions"].any()), None)
    return Cliff(
        metric,
        at,
        worse,
        None if worse is None else worst[worse],
        None if worse is None else abs(axis.of(worse) / axis.of(answer) - 1),
        preempts,
        None if preempts is None else axis.of(preempts) / axis.of(answer) - 1,
    )
