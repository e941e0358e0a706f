"""The mass model seen from its labels, literally: a deque of cohorts, in any kind of number.

A *label* is what one iteration admitted, a relative position of Appendix A; its requests never
change places with those of another. So an iteration touches few labels. What has reached an end of
its class completes; memory grows by one token for each request that stays; what is then too much is
taken from the youngest label, and from the next one where that is used up; what is free is a new
label. A label that is used up does not come back (Lemma A.3), so an iteration costs O(1) amortised
for each end, whatever the decode length.

After each iteration memory is full, so it need not be summed: requests in flight are kept as a
running sum, which says how much the next execution adds. With one end, where nothing completes,
eviction takes just what execution added. A request of the youngest label that holds w tokens before
and w + 1 after leaves the requests in flight N with N (w + 1) = N_before w, so that

    N = A / w,    u = C + N    with A = N w and C = u - N the same all the while,

u the requests of the youngest label: Proposition A.4 before its last iteration. In rationals all
this equals `fluidkv.exact.mass`; the kernel does the same operations on floats in the same order,
so that an instance of floats equals it bit by bit. Against roundings the sums are made anew from
the labels once in a while.

Source: Congestion, section 2.2, Appendix A.1, Lemma A.3 and Proposition A.4.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

Number = Fraction | float


@dataclass(frozen=True)
class Unit:
    """What one unit of admission is made of.

    Fields:
        classes: l0 and l1 of each, those that end earlier first.
        shares: p of each.
        ends: the different l1, increasing.
        leaving: requests that complete at each end.
        gained: tokens that this frees, with those that they would have grown by.
        alive, held: requests that live at each age, and the tokens that they hold.
    """

    classes: Sequence[tuple[int, int]]
    shares: Sequence[Number]
    ends: Sequence[int]
    leaving: Sequence[Number]
    gained: Sequence[Number]
    alive: Sequence[Number]
    held: Sequence[Number]

    @classmethod
    def of(cls, classes: Sequence[tuple[int, int]], shares: Sequence[Number]) -> "Unit":
        """From classes in the order of their l1."""
        mix = [(l0, l1, share) for (l0, l1), share in zip(classes, shares, strict=True)]
        ends, zero = sorted({l1 for _, l1 in classes}), 0 * shares[0]
        ages = range(ends[-1])
        return cls(
            classes,
            shares,
            ends,
            leaving=[sum((p for _, l1, p in mix if l1 == end), zero) for end in ends],
            gained=[sum((p * (l0 + l1 + 1) for l0, l1, p in mix if l1 == e), zero) for e in ends],
            alive=[sum((p for _, l1, p in mix if l1 > age), zero) for age in ages],
            held=[sum((p * (l0 + 1 + s) for l0, l1, p in mix if l1 > s), zero) for s in ages],
        )


@dataclass
class Label:
    """What entered at iteration `birth`; what was there at the start at stage s entered at -s.

    Fields:
        units: of admission; of a start off the manifold, what is left of 1.
        masses: of such a start, requests of each class in that 1.
    """

    birth: int
    units: Number
    masses: Sequence[Number] | None = None


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


class Labels:
    """One trajectory.

    Args:
        unit: what admission fills.
        capacity: M, tokens.
        start: for each stage, from 0, units; or the requests of each class. Memory is at or below
            capacity.
        turn: iterations after which sums are made anew.
        slack: a label of which less than this part is left is used up: 0 in rationals.
    """

    def __init__(
        self,
        unit: Unit,
        capacity: Number,
        start: Iterable[Number | Sequence[Number]],
        turn: int,
        slack: float = 0,
    ) -> None:
        self.now = 0
        self._unit, self._capacity, self._turn, self._slack = unit, capacity, turn, slack
        self._zero = 0 * capacity
        self.labels: deque[Label] = deque()
        for stage, mass in enumerate(start):
            if isinstance(mass, Sequence):
                self.labels.appendleft(Label(-stage, 1 + self._zero, mass))
            elif mass > 0:
                self.labels.appendleft(Label(-stage, mass))
        self.requests = self._growth = self._zero
        self._squeeze: Squeeze | None = None
        self._flows = self._none()

    def iterate(self) -> Flows:
        """One iteration: execute, evict, admit; who waits is never at an end."""
        self._flows = self._none()
        if self.now % self._turn == 0:
            self._make_anew()
        self.now += 1
        if self._squeeze is None or not self._squeezed(self._squeeze):
            self._change()
        return self._flows

    def state(self) -> list[list[Number]]:
        """x_ks, mass at stage s of class k, those that end earlier first."""
        rows = [[self._zero] * self._unit.ends[-1] for _ in self._unit.classes]
        for label in self.labels:
            age = self.now - label.birth
            for k, (_, end) in enumerate(self._unit.classes):
                if age < end:
                    rows[k][age] = self._share(label, k)
        return rows

    def _squeezed(self, at: Squeeze) -> bool:
        """Nothing completes: what execution added is evicted from the youngest label. False where
        something does, or where that is used up."""
        youngest = self.labels[-1]
        requests = at.total / (at.tokens + (self.now - at.since))
        if self._ends(self.labels[0]) == self.now or at.older + requests <= 0:
            return False
        self._evict(youngest, youngest.units - (at.older + requests))
        youngest.units, self.requests, self._growth = at.older + requests, requests, requests
        return True

    def _change(self) -> None:
        leaving, gained = self._complete()
        excess = self._growth - gained  # memory was full
        self.requests -= leaving
        if excess < 0:
            self._admit(-excess)
        else:
            self._trim(excess)
        self._growth = self.requests
        if len(self._unit.ends) == 1 and self._unit.alive[0] == 1 and not self._by_class():
            youngest = self.labels[-1]
            tokens = self._unit.held[self.now - youngest.birth]
            total, older = self.requests * tokens, youngest.units - self.requests
            self._squeeze = Squeeze(self.now, total, older, tokens)

    def _complete(self) -> tuple[Number, Number]:
        """Requests that complete, and the tokens by which memory is then smaller."""
        unit, leaving, gained = self._unit, self._zero, self._zero
        births = {label.birth: label for label in self.labels}
        for j, end in enumerate(unit.ends):
            label = births.get(self.now - end)
            if label is not None and label.masses is None:
                leaving += label.units * unit.leaving[j]
                gained += label.units * unit.gained[j]
        for k, (l0, l1) in enumerate(unit.classes):
            label = births.get(self.now - l1)
            if label is not None:
                requests = self._share(label, k)
                self._flows.completed[k] += requests
                if label.masses is not None:
                    leaving += requests
                    gained += requests * (l0 + (l1 + 1))
        if self.labels and self._ends(self.labels[0]) == self.now:
            self.labels.popleft()
        return leaving, gained

    def _trim(self, excess: Number) -> None:
        """Least progressed first: a label that needs no more than the excess is used up."""
        while excess > 0 and self.labels:
            youngest = self.labels[-1]
            alive, held = self._holds(youngest)
            needed, cut = youngest.units * held, youngest.units
            if needed - excess > self._slack * needed:
                cut = min(cut, excess / held)
            self._evict(youngest, cut)
            youngest.units -= cut
            self.requests -= cut * alive
            if youngest.units > 0:
                return
            excess = max(excess - needed, self._zero)
            self.labels.pop()

    def _admit(self, free: Number) -> None:
        units = free / self._unit.held[0]
        self.labels.append(Label(self.now, units))
        self.requests += units * self._unit.alive[0]
        for k, share in enumerate(self._unit.shares):
            self._flows.admitted[k] += units * share

    def _make_anew(self) -> None:
        """Sums from the labels, youngest first. `_growth` is by how much the next execution exceeds
        capacity, if none completes."""
        requests, held = self._zero, self._zero
        for label in reversed(self.labels):
            if label.masses is None:
                alive, tokens = self._holds(label)
                requests += label.units * alive
                held += label.units * tokens
        more, further = self._zero, self._zero
        for k, (l0, l1) in enumerate(self._unit.classes):
            for label in reversed(self.labels):
                age = self.now - label.birth
                if label.masses is not None and age < l1:
                    more += self._share(label, k)
                    further += self._share(label, k) * (l0 + (1 + age))
        if self._by_class():
            requests, held = requests + more, held + further
        self.requests, self._growth = requests, requests + (held - self._capacity)
        self._squeeze = None

    def _holds(self, label: Label) -> tuple[Number, Number]:
        """Requests of one unit of a label, and the tokens that they hold."""
        age = self.now - label.birth
        if label.masses is None:
            return self._unit.alive[age], self._unit.held[age]
        alive, held = self._zero, self._zero
        for (l0, l1), mass in zip(self._unit.classes, label.masses, strict=True):
            if age < l1:
                alive += mass
                held += mass * (l0 + (1 + age))
        return alive, held

    def _share(self, label: Label, k: int) -> Number:
        """Requests of class k in a label."""
        if label.masses is None:
            return self._unit.shares[k] * label.units
        return label.units * label.masses[k]

    def _evict(self, label: Label, units: Number) -> None:
        """Count it."""
        for k, (_, end) in enumerate(self._unit.classes):
            if self.now - label.birth < end:
                share = self._unit.shares[k] if label.masses is None else label.masses[k]
                self._flows.evicted[k] += units * share

    def _ends(self, label: Label) -> int:
        return label.birth + self._unit.ends[-1]

    def _by_class(self) -> bool:
        return len(self._unit.classes) > 1

    def _none(self) -> Flows:
        zeros = [self._zero for _ in self._unit.classes]
        return Flows(list(zeros), list(zeros), list(zeros))
