"""What each request is to have: times for all, or a multiple of what the compared rules give."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fluidkv.errors import InputError
from fluidkv.preempt.slo import MeanTimes, assigned
from fluidkv.record import Record
from fluidkv.runs.checks import above_0, real
from fluidkv.runs.precision import random_key
from fluidkv.runs.requests import Requests


@dataclass(frozen=True)
class Objectives(Record):
    """Objectives for the first token and between tokens.

    Args:
        ttft, tbt: times on the run's clock, the same for all; None: no such objective.
        scale: instead, the mean times over all that is compared, times this number, or one drawn
            for each request between two numbers (CacheOPT, section 5: 0.5 and 2.5).

    Raises:
        InputError: a number not above 0, a scale the wrong way round; both kinds, or none.

    Examples:
        >>> from fluidkv.answers import Objectives
        >>> table = fk.Requests([8, 8], [10, 20])
        >>> [asked] = Objectives(ttft=2.0, tbt=0.1).given_to([table], None, None, seed=0)
        >>> asked.ttft_slo, asked.tbt_slo
        (array([2., 2.]), array([0.1, 0.1]))
    """

    ttft: float | None = None
    tbt: float | None = None
    scale: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for name in ("ttft", "tbt"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, above_0(f"slo {name}", value))
        timed = self.ttft is not None or self.tbt is not None
        if timed == (self.scale is not None):
            raise InputError("slo", "both" if timed else "none", "ttft and tbt, or a scale")
        if self.scale is not None:
            low, high = (real(each) for each in self.scale)
            if not 0 < low <= high < np.inf:
                said = " to ".join(map(str, self.scale))
                raise InputError("slo", said, "a scale above 0, or two, the least first")

    def given_to(
        self, tables: Sequence[Requests], times: MeanTimes | None, chunk: int | None, seed: int
    ) -> list[Requests]:
        """The tables with objectives; draws are of a run's seed, from `seed` on.

        Args:
            times: what a scale is a multiple of; a time that is NaN gives no objective.
            chunk: tokens of prefill that an iteration takes at most.
        """
        if self.scale is None or times is None:
            first, between = self.ttft or np.inf, self.tbt or np.inf
            return [replace(table, ttft_slo=first, tbt_slo=between) for table in tables]
        first, between = (
            time if time > 0 else np.inf  # NaN: nobody has two tokens
            for time in (times.ttft, times.tbt)
        )
        return [
            assigned(table, first, between, random_key(seed + run), scale=self.scale, chunk=chunk)
            for run, table in enumerate(tables)
        ]
