"""What a pick is the best in, what else users feel, what counts as a difference; and the pick."""

from collections.abc import Sequence
from dataclasses import dataclass

from fluidkv.answers.served.described import THROUGHPUTS
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


def felt_of(objective: str, throughput: str, tails: Sequence[str]) -> tuple[str, ...]:
    """What users feel, in the order in which it counts: the objective, then throughput, then tails.

    Args:
        objective: one of `OBJECTIVES`.
        throughput: the metric of throughput on this clock.
        tails: metrics of times.
    """
    first = throughput if objective == "throughput" else objective
    return tuple(dict.fromkeys((first, throughput, *tails)))


def more_is_better(metric: str) -> bool:
    """Of what users feel: of all others less is."""
    return metric in (*THROUGHPUTS, "goodput")


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
