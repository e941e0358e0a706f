"""What the theory says of a load: how much a full memory carries, and how near arrivals come to it.

The mass model (Congestion, section 4.1) without evictions completes x* requests an iteration where
memory is full. An iteration then lasts what the clock says of a full memory. Where a request's peak
is held all along, as by an engine that reserves it, less is completed; for one class that is the
worst cycle (Lemma 1), below which a collapsed server comes back by itself. Between the two rates
lie the loads that are carried, and lost for good after a collapse (docs/metastability.md).
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from fluidkv.exact.survival import survival_weights
from fluidkv.record import Record
from fluidkv.serving.clock import IterationClock
from fluidkv.workload import Workload


@dataclass(frozen=True)
class Carried:
    """What so much memory carries, in theory.

    Fields:
        in_flight: requests that run together.
        per_iteration: x*, requests completed in an iteration; less where a cap on running requests
            leaves memory free.
        iteration: how long an iteration lasts then, in the clock's unit.
        rate: requests a unit of the clock.
        reserving: the same where every request holds its peak all along.
    """

    in_flight: float
    per_iteration: float
    iteration: float
    rate: float
    reserving: float


@dataclass(frozen=True)
class Bounds:
    """What limits the requests a second of one replica, each as if it were alone.

    Fields:
        memory: M / mean(tokens held x time held) (arXiv 2605.04595, with the time of an iteration
            where memory is full); requests a unit of the clock.
        compute: as memory grows without end, when only computing takes time; infinite on a clock
            whose iterations last alike.
    """

    memory: float
    compute: float


@dataclass(frozen=True)
class Theory(Record):
    """The mass model of the requests that are run.

    Args:
        workload: their lengths, as a mix.
        clock: how long an iteration lasts.
        max_num_seqs: most requests running at once; None: no cap.
    """

    workload: Workload
    clock: IterationClock
    max_num_seqs: int | None = None

    @cached_property
    def _lifetime(self) -> tuple[Fraction, Fraction]:
        """Token-iterations of a request, its cache growing by a token each; and its peak's."""
        peak = sum(c.share * c.peak_footprint * c.decode_length for c in self.workload.classes)
        return survival_weights(self.workload).lifetime_memory, Fraction(peak)

    def carried(self, tokens: int) -> Carried:
        """Of so many KV tokens."""
        growing, peak = self._lifetime
        running, rate, lasts = self._full(tokens, growing)
        _, reserving, slow = self._full(tokens, peak)
        return Carried(running, rate, lasts, rate / lasts, reserving / slow)

    def bounds(self, tokens: int) -> Bounds:
        """Of so many KV tokens; a cap on running requests apart.

        Examples:
            >>> from fluidkv.answers.size.load import Theory
            >>> mix = fk.Workload.from_lengths([(10, 4)])  # holds 11, 12, 13, 14: 50 in all
            >>> Theory(mix, fk.IterationClock(0.5)).bounds(100)  # 2 an iteration of 0.5 s
            Bounds(memory=4.0, compute=inf)
        """
        free = replace(self, max_num_seqs=None)
        # The work of one request; weights are read for ever more of them at once.
        clock, outputs = replace(self.clock, experts=0.0), self.workload.mean_decode_length
        lasts = clock.duration(*self._work(Fraction(1)), float(outputs)) - clock.base
        return Bounds(free.carried(tokens).rate, 1 / lasts if lasts else math.inf)

    @cached_property
    def _prefill(self) -> tuple[Fraction, Fraction, Fraction]:
        """Tokens of a prompt, pairs of them, and outputs, in the mean."""
        mix = self.workload
        pairs = mix.mean([c.input_length * (c.input_length + 1) // 2 for c in mix.classes])
        return mix.mean_input_length, pairs, mix.mean_decode_length

    def _work(self, rate: Fraction) -> tuple[float, float, float]:
        """KV tokens read, tokens of prefill and their pairs, at so many requests an iteration."""
        inputs, pairs, _ = self._prefill
        return float(rate * self._lifetime[0]), float(rate * inputs), float(rate * pairs)

    def _full(self, tokens: int, lifetime: Fraction) -> tuple[float, float, float]:
        """Requests in flight, completed an iteration, and how long that lasts."""
        outputs = self._prefill[2]
        running = tokens / lifetime * outputs
        if self.max_num_seqs is not None:
            running = min(running, Fraction(self.max_num_seqs))
        rate = running / outputs
        # The cache that is read, whoever reserves more.
        lasts = self.clock.duration(*self._work(rate), float(running))
        return float(running), float(rate), lasts
