"""The decode batch of the fast scheduler: every pass gives each of its requests one more token.

So who is done when is known when it joins, and between joining and leaving a request is not looked
at: what all of them hold, may still emit and need next are sums that change by as much every pass.

A pass is *launched* when its tokens get places, and *known* when the scheduler has its results;
with overlap that is a step later.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence

from fluidkv.serving.caching.sglang.state import NOT_YET, Request


class Lockstep:
    """Requests that decode, in running order, and sums over them.

    Attributes:
        members: in order.
        launched, known: decode passes so far.
        slots: tokens that they hold.
        may_emit: what they may still emit, as far as it counts.
    """

    def __init__(self, page: int, clip: int) -> None:
        self.members: dict[Request, None] = {}
        self.launched = self.known = self.slots = self.may_emit = 0
        self._page, self._clip = page, clip
        self._known_members = 0  # without those whose first token is in flight
        self._sinking = 0  # members of whose `may_emit` each known pass takes one
        self._turns: Counter[int] = Counter()  # known passes -> how many more sink from then on
        self._phases: Counter[int] = Counter()  # members by (tokens - launched) modulo a page
        self._due: dict[int, list[Request]] = {}  # known passes -> who may be done with that one
        self._first = self._places = 0  # of the running order; the next ones
        self._in_flight = NOT_YET  # the pass whose `_due` is in order already
        self._times: list[float] = [0.0]  # when the tokens of each known pass were there
        self._gap_passes: list[int] = []  # passes whose gap is longer than all later ones
        self._gaps: list[float] = []

    def __len__(self) -> int:
        return len(self.members)

    @property
    def pages_needed(self) -> int:
        """For one more token each."""
        return self._phases[-self.launched % self._page]

    @property
    def nobody_due(self) -> bool:
        """Nobody is done with the next pass that gets known."""
        return self.known + 1 not in self._due

    # ----------------------------------------------------------------------------- who comes, goes

    def join(self, requests: Sequence[Request], *, in_front: bool) -> None:
        """They were prefilled and decode from the next pass on, behind the others or before."""
        if in_front:
            self._first -= len(requests)
            self.members = dict.fromkeys(requests) | self.members
            first = self._first
        else:
            first = self._places
            self._places += len(requests)
            self.members.update(dict.fromkeys(requests))
        for place, request in enumerate(requests, first):
            request.place = place
            self._add(request)

    def _add(self, request: Request) -> None:
        request.launched_since = self.launched
        self.slots += request.slots
        self._phases[(request.slots - self.launched) % self._page] += 1
        self.may_emit += request.may_emit(self._clip)
        if request.known_since != NOT_YET:
            self._sink(request, 1)

    def first_known(self, request: Request, now: float) -> None:
        """The token that its prefill ends with is there, and more are to come."""
        inside = request in self.members
        if inside:
            self.may_emit -= request.may_emit(self._clip)
        request.emit(now)
        request.known_since = self.known
        if inside:
            self.may_emit += request.may_emit(self._clip)
            self._sink(request, 1)
        request.due = self.known + request.output_length - request.outputs
        self._due.setdefault(request.due, []).append(request)

    def leave(self, request: Request) -> None:
        """It is a request like those outside again."""
        self.settle(request)
        del self.members[request]
        self.slots -= request.slots
        self._phases[(request.slots - self.launched) % self._page] -= 1
        self.may_emit -= request.may_emit(self._clip)
        if request.known_since != NOT_YET:
            self._sink(request, -1)
        request.known_since = request.launched_since = NOT_YET

    def settled(self) -> list[Request]:
        """The members in order, with what they are written into them."""
        for request in self.members:
            self.settle(request)
        return list(self.members)

    def _sink(self, request: Request, by: int) -> None:
        self._known_members += by
        beyond = request.max_output - request.outputs - self._clip
        if beyond <= 0:
            self._sinking += by
        else:
            self._turns[self.known + beyond] += by

    def settle(self, request: Request) -> None:
        """Write into a member how far it is."""
        request.slots += self.launched - request.launched_since
        request.launched_since = self.launched
        passes = self.known - request.known_since
        if request.known_since == NOT_YET or not passes:
            return
        first, last = self._times[request.known_since + 1], self._times[self.known]
        assert request.last_token_at is not None
        gap = max(first - request.last_token_at, self._longest_gap(request.known_since + 2))
        request.longest_gap = max(request.longest_gap, gap)
        request.last_token_at = last
        request.outputs += passes
        request.known_since = self.known

    def reorder(self, requests: Iterable[Request]) -> None:
        """The same members, in this order. Who is due is in the order of the pass in flight."""
        if self.launched > self.known and self.known + 1 in self._due:
            self._due[self.known + 1] = self.due_next()
            self._in_flight = self.known + 1
        self.members = dict.fromkeys(requests)
        for place, request in enumerate(self.members):
            request.place = place
        self._first, self._places = 0, len(self.members)

    # --------------------------------------------------------------------------------------- passes

    def launch(self) -> None:
        """Each gets a place for one more token."""
        self.launched += 1
        self.slots += len(self.members)

    def land(self, now: float) -> int:
        """The tokens of one more pass are known; they were there at this time.

        Returns: how many of them are of members.
        """
        self.known += 1
        self.may_emit -= self._sinking
        if self._turns:
            self._sinking += self._turns.pop(self.known, 0)
        gap = now - self._times[-1]
        self._times.append(now)
        while self._gaps and self._gaps[-1] <= gap:
            self._gaps.pop()
            self._gap_passes.pop()
        self._gaps.append(gap)
        self._gap_passes.append(self.known)
        return self._known_members

    def due(self) -> list[Request]:
        """Who is done with the pass that is known now, in running order."""
        found = self._due.pop(self.known, None)
        return self._in_order(found, self.known) if found else []

    def due_next(self) -> list[Request]:
        """Who is done with the next one."""
        found = self._due.get(self.known + 1)
        return self._in_order(found, self.known + 1) if found else []

    def _in_order(self, found: list[Request], due: int) -> list[Request]:
        """Without those who have left meanwhile and are not due then; each once."""
        left = dict.fromkeys(request for request in found if request.due == due)
        return list(left) if due == self._in_flight else sorted(left, key=lambda r: r.place)

    def _longest_gap(self, since: int) -> float:
        """From the pass of this number on."""
        place = bisect_left(self._gap_passes, since)
        return self._gaps[place] if place < len(self._gaps) else 0.0
