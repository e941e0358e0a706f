"""What a pick is the best in, what else users feel, what counts as a difference; and the pick."""

from collections.abc import Sequence
from dataclasses import dataclass

from fluidkv.record import Record

OBJECTIVES = (
    *("throughput", "ttft_p99", "latency_p99", "tpot_p99", "longest_gap_p99"),
    "goodput",
)
"""What a pick can be the best in; the first where nobody says."""

MARGIN = 0.02
"""What counts as no loss, and as no gain. Noise is no measure for it: few runs would call a tenth
of the throughput a tie, and many runs nothing at all.

>>> from fluidkv.answers import MARGIN
>>> best, other = 10.0, 9.85  # requests a second
>>> other >= best * (1 - MARGIN)  # counts as no loss
True
"""


@dataclass(frozen=True)
class Felt(Record):
    """What users feel, in the order in which it counts.

    Fields:
        order: metrics; the first is the objective.
        throughput: the metric of throughput among them.
    """

    order: tuple[str, ...]
    throughput: str

    @classmethod
    def of(cls, objective: str, throughput: str, tails: Sequence[str]) -> "Felt":
        """The objective, then throughput, then tails.

        Args:
            objective: one of `OBJECTIVES`.
            throughput: the metric of throughput on this clock.
            tails: metrics of times.
        """
        first = throughput if objective == "throughput" else objective
        return cls(tuple(dict.fromkeys((first, throughput, *tails))), throughput)

    def more_is_better(self, metric: str) -> bool:
        return metric in (self.throughput, "goodput")


@dataclass(frozen=True)
class Choice(Record):
    """What to take of some settings; numbers are indices of settings.

    Fields:
        index: the setting to take; None if none is allowed.
        candidate: what would be taken if every simulated difference were one of the server.
        allowed: those that meet what is asked.
        closest: where none is allowed, the one that misses by least.
    """

    index: int | None = None
    candidate: int | None = None
    allowed: tuple[int, ...] = ()
    closest: int | None = None
