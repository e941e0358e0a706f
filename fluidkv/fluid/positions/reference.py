"""The mass model seen from its labels, literally: a deque of cohorts, in any kind of number.

A *label* is what one iteration admitted, a relative position of Appendix A; its requests never
change places with those of another. So an iteration touches three labels alone. What has reached
an end of its class completes, at the old end of the deque; memory grows by one token for each
request that stays; what is then too much is taken from the youngest label, and from the next one
where that is used up; what is free is a new label. A label that is used up does not come back
(Lemma A.3), so an iteration costs O(1) amortised, whatever the decode length.

After each admission memory is full, so it need not be summed: requests in flight are kept as a
running sum, which says how much the next execution adds. Where nothing completes, eviction takes
just what execution added. A request of the youngest label that holds w tokens before and w + 1
after leaves the requests in flight N with N (w + 1) = N_before w, so that

    N = A / w,    u = C + N    with A = N w and C = u - N the same all the while,

u the requests of the youngest label: Proposition A.4 before its last iteration, and with any
number of classes. In rationals all this equals `fluidkv.exact.mass`; the fast engine does the same
operations on floats in the same order, so that an instance of floats equals it bit by bit. Against
roundings the sums are made anew from the labels about once a turn.

Source: Congestion, section 2.2, Appendix A.1, Lemma A.3 and Proposition A.4.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

Number = Fraction | float


@dataclass(frozen=True)
class Mix:
    """What a unit of a label's mass is made of, by *segment*: the ages between two ends.

    Segment j are the ages from ends[j - 1] to ends[j] - 1.

    Fields:
        ends: ages that requests do not reach: their decode lengths, increasing.
        alive: requests of a unit in segment j.
        inputs: input tokens of those, together.
        leaving: requests that complete at ends[j].
        freed: tokens that these hold in their last stage.
        masses: requests of each class.
        end_of: for each class, the index of its end.
    """

    ends: Sequence[int]
    alive: Sequence[Number]
    inputs: Sequence[Number]
    leaving: Sequence[Number]
    freed: Sequence[Number]
    masses: Sequence[Number]
    end_of: Sequence[int]

    @classmethod
    def of(cls, lengths: Sequence[tuple[int, int]], masses: Sequence[Number]) -> "Mix":
        """Classes (l0, l1) with these masses; sums begin with those that end first."""
        ends = sorted({l1 for _, l1 in lengths})
        classes = sorted(zip(lengths, masses, strict=True), key=lambda each: each[0][1])
        zero = 0 * masses[0]
        leaving = [sum((x for (_, l1), x in classes if l1 == end), zero) for end in ends]
        freed = [sum((x * (l0 + l1) for (l0, l1), x in classes if l1 == e), zero) for e in ends]
        return cls(
            ends=ends,
            alive=[sum((x for (_, l1), x in classes if l1 >= end), zero) for end in ends],
            inputs=[sum((x * l0 for (l0, l1), x in classes if l1 >= end), zero) for end in ends],
            leaving=leaving,
            freed=freed,
            masses=masses,
            end_of=[ends.index(l1) for _, l1 in lengths],
        )

    def holds(self, age: int) -> tuple[Number, Number]:
        """Requests of a unit at this age, and the tokens that they hold."""
        for j, end in enumerate(self.ends):
            if end > age:
                return self.alive[j], self.inputs[j] + (1 + age) * self.alive[j]
        return 0 * self.alive[0], 0 * self.alive[0]


@dataclass
class Label:
    """What entered at iteration `birth`: `units` of a mix. At iteration n it is at stage n - birth.
    What was there at the start at stage s entered at -s."""

    birth: int
    mix: Mix
    units: Number


class Squeeze(NamedTuple):
    """What holds from iteration `since` on, as long as nothing completes; A, C and w of above."""

    since: int
    total: Number
    older: Number
    tokens: Number


class Flows(NamedTuple):
    """Requests of one iteration, each class."""

    admitted: list[Number]
    completed: list[Number]
    evicted: list[Number]


class Positions:
    """One trajectory.

    Args:
        fresh: what admission fills, one unit.
        capacity: M, tokens.
        start: for each stage, from 0: a mix and its units, memory at or below capacity.
    """

    def __init__(self, fresh: Mix, capacity: Number, start: Iterable[tuple[Mix, Number]]) -> None:
        self.now = 0
        self.requests: Number = 0 * capacity
        self._fresh, self._capacity = fresh, capacity
        found = [Label(-stage, mix, units) for stage, (mix, units) in enumerate(start)]
        self.labels = deque(label for label in reversed(found) if label.units > 0)
        self._squeeze: Squeeze | None = None
        self._turn = len(self.labels)  # changes of the running sum until it is made anew
        self._flows = self._none()

    def iterate(self) -> Flows:
        """One iteration: execute, evict, admit; who waits is never at an end."""
        self._flows = self._none()
        self.now += 1
        ended = [
            (label, j)
            for j, end in enumerate(self._fresh.ends)
            for label in self.labels
            if label.birth + end == self.now
        ]
        if self._squeeze is None or ended:
            self._change(ended)
        else:
            self._squeezed(self._squeeze)
        return self._flows

    def state(self) -> list[list[Number]]:
        """x_ks, mass of class k at stage s."""
        stages = self._fresh.ends[-1]
        rows = [[0 * self._capacity] * stages for _ in self._fresh.masses]
        for label in self.labels:
            age = self.now - label.birth
            for k, mass in enumerate(label.mix.masses):
                if label.mix.ends[label.mix.end_of[k]] > age:
                    rows[k][age] = label.units * mass
        return rows

    def _squeezed(self, at: Squeeze) -> None:
        """Nothing completes: what execution added is evicted, from the youngest label first."""
        youngest, tokens = self.labels[-1], at.tokens + (self.now - at.since)
        requests = at.total / tokens
        left = at.older + requests
        if left > 0:
            alive, _ = youngest.mix.holds(self.now - youngest.birth)
            self._evict(youngest, youngest.units - left / alive)
            youngest.units, self.requests = left / alive, requests
            return
        before = at.total / (at.tokens + (self.now - 1 - at.since))
        excess = before - (at.older + before) * tokens
        self._evict(youngest, youngest.units)
        self.labels.pop()
        self.requests = -at.older
        self._trim(excess)
        self._settle()

    def _change(self, ended: list[tuple[Label, int]]) -> None:
        """Something completes, or nothing is known yet of memory."""
        zero = 0 * self._capacity
        freed = zero
        for label, j in ended:
            self.requests -= label.units * label.mix.leaving[j]
            freed += label.units * label.mix.freed[j]
            for k, mass in enumerate(label.mix.masses):
                if label.mix.end_of[k] == j:
                    self._flows.completed[k] += label.units * mass
        if self.labels and self.labels[0].birth + self._fresh.ends[-1] == self.now:
            self.labels.popleft()
        self._turn += 1
        excess = self.requests - freed  # memory was full
        if not self.labels or self._turn > len(self.labels):
            held = [
                (label.units, *label.mix.holds(self.now - label.birth)) for label in self.labels
            ]
            self.requests = sum((units * alive for units, alive, _ in held), zero)
            excess = sum((units * tokens for units, _, tokens in held), zero) - self._capacity
            self._turn = 0
        if excess > 0:
            self._trim(excess)
        elif excess < 0:
            self._admit(-excess)
        self._settle()

    def _trim(self, excess: Number) -> None:
        """Least progressed first: a label that needs no more than the excess is used up."""
        while self.labels:
            youngest = self.labels[-1]
            alive, tokens = youngest.mix.holds(self.now - youngest.birth)
            needed = youngest.units * tokens
            if needed > excess:
                cut = excess / tokens
                self._evict(youngest, cut)
                youngest.units -= cut
                self.requests -= cut * alive
                return
            self._evict(youngest, youngest.units)
            self.requests -= youngest.units * alive
            excess -= needed
            self.labels.pop()

    def _admit(self, free: Number) -> None:
        alive, tokens = self._fresh.holds(0)
        units = free / tokens
        self.labels.append(Label(self.now, self._fresh, units))
        self.requests += units * alive
        for k, mass in enumerate(self._fresh.masses):
            self._flows.admitted[k] += units * mass

    def _settle(self) -> None:
        """Memory is full: what holds until something completes or the youngest is used up."""
        youngest = self.labels[-1]
        alive, tokens = youngest.mix.holds(self.now - youngest.birth)
        while not alive:  # all its requests have completed, those of longer classes were none
            self.labels.pop()
            youngest = self.labels[-1]
            alive, tokens = youngest.mix.holds(self.now - youngest.birth)
        own = youngest.units * alive
        if len(self.labels) == 1:
            self.requests = own
        each = tokens / alive
        self._squeeze = Squeeze(self.now, self.requests * each, own - self.requests, each)

    def _evict(self, label: Label, units: Number) -> None:
        """Count it."""
        age = self.now - label.birth
        for k, mass in enumerate(label.mix.masses):
            if label.mix.ends[label.mix.end_of[k]] > age:
                self._flows.evicted[k] += units * mass

    def _none(self) -> Flows:
        zeros = [0 * self._capacity for _ in self._fresh.masses]
        return Flows(list(zeros), list(zeros), list(zeros))
