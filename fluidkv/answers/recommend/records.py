"""What a recommendation is made of: what is to be had, gains, choices, changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from fluidkv.answers.served.described import THROUGHPUTS
from fluidkv.questions.answer import Answer, Described, described
from fluidkv.record import Record

OBJECTIVES = (
    *("throughput", "ttft_p99", "latency_p99", "tpot_p99", "longest_gap_p99"),
    "goodput",
)
"""What a pick can be the best in; the first where nobody says."""

MARGIN = 0.02
"""What counts as no loss, and as no gain. Noise is no measure for it: few runs would call a tenth
of the throughput a tie, and many runs nothing at all.

>>> from fluidkv.answers.recommend.records import MARGIN
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


@dataclass(frozen=True)
class Gain(Answer):
    """One setting in one metric against the server as it is; above 0 is better.

    Fields:
        relative: by the means over runs, infinite where today's is 0; where a log is given, the
            lesser of what is gained on the simulated and on the measured server.
        held: whether the log, if there is one, has this metric: else no gain in it counts.
        sign: -1 of a metric of which less is better.
    """

    relative: Annotated[float, Described("gain over today", kind="relative")]
    paired: Annotated[
        float,
        Described("the same as a mean over pairs: runs, or parts of the one run", kind="relative"),
    ]
    half: Annotated[
        float,
        Described(
            "half of the interval of that; null where there are no two pairs",
            key="half_width",
            kind="relative",
        ),
    ]
    bar: Annotated[
        float | None,
        Described(
            "what the simulation misses on the log, which it has to exceed; null without a log",
            key="error_bar",
            kind="relative",
        ),
    ]
    held: bool = True
    sign: int = 1

    @property
    def change(self) -> float:
        """Of the metric itself: below 0 where it gets less."""
        return self.sign * self.relative

    @property
    def needed(self) -> float:
        """What the gain has to exceed."""
        return max(MARGIN, self.bar or 0.0)

    @described("whether it counts: beyond chance, and beyond what the simulation misses")
    def counts(self) -> bool:
        """Whether it is beyond chance, by both means, and beyond what the simulation misses."""
        beyond_chance = min(self.relative, self.paired) > self.half
        return bool(self.held and self.relative > self.needed and beyond_chance)

    @property
    def loses(self) -> bool:
        """Whether it is a loss that is beyond what the simulation misses."""
        return bool(self.relative < -self.needed)


@dataclass(frozen=True)
class WhatIf(Answer):
    """One change of what is served or of what serves it."""

    of: Annotated[
        str,
        Described(
            "what is changed: capacity, inputs, rate or clients; null: nothing",
            json=lambda of: of or None,
        ),
    ]
    factor: Annotated[Fraction, Described("factor on it", json=float)]
    capacity: Annotated[int, Described("KV memory then", "token")]
    metrics: Annotated[
        "Mapping[str, float] | None",
        Described("means over runs; null where it was not run → [metrics](#metrics)"),
    ] = None
    why: Annotated[
        str, Described("why it was not run; null: it was", json=lambda why: why or None)
    ] = ""
