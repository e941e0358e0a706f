"""SGLang's scheduler, fast: a step costs what changes in it.

Equal to `reference.SglangEngine` step by step, and bit by bit where it adds floats. Requests that
decode are sums (`lockstep`); what admission reserves for them is estimated and added up only where
the estimate is too close to decide; passes in which nobody comes, leaves or is tried are done in
one go.
"""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field

from fluidkv.prefix.prompts import Prompts
from fluidkv.prefix.radix.tree import FastRadixTree
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.sglang.admission import Admission
from fluidkv.serving.caching.sglang.entering import Touches, enter
from fluidkv.serving.caching.sglang.lockstep import Lockstep
from fluidkv.serving.caching.sglang.pool import Pool
from fluidkv.serving.caching.sglang.ratio import NewTokens
from fluidkv.serving.caching.sglang.reserved import Estimated, shares
from fluidkv.serving.caching.sglang.seen import Happened, Row, counts_of, row_of
from fluidkv.serving.caching.sglang.state import (
    NOT_YET,
    Mode,
    Request,
    last_goes_first,
    most_urgent_first,
)
from fluidkv.serving.caching.sglang.table import checked_table, needed_alone
from fluidkv.serving.caching.worker import Offers
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.sglang_settings import RETRACT_STEPS, SglangSettings


@dataclass(eq=False)
class Pass:
    """One pass of the model.

    Args:
        mode: what it computes.
        prefilled: whose prompts; in a decode pass nobody's.
        chunked: of these, the one whose prompt it does not end.
        decoded: how many decode in it.
        ended_at: when its tokens are there.
    """

    mode: Mode
    prefilled: list[Request] = field(default_factory=list)
    chunked: Request | None = None
    decoded: int = 0
    ended_at: float = 0.0


class FastSglang:
    """As `SglangEngine`.

    Examples:
        >>> from fluidkv.prefix import Prompts
        >>> from fluidkv.serving import FastSglang, SglangSettings
        >>> alike = Prompts([[(0, 0, 12)], [(0, 0, 12)]], [[(1, 0, 2)], [(2, 0, 2)]])
        >>> requests, clock = fk.Requests([12, 12], [2, 2], arrival=[0, 5]), fk.IterationClock(1.0)
        >>> server = FastSglang(requests, alike, SglangSettings(40), clock)
        >>> server.offer(0)
        >>> server.advance(until=5.0)
        >>> server.found(1), server.idle
        (11, True)
    """

    def __init__(
        self,
        requests: Requests,
        prompts: Prompts | None,
        settings: SglangSettings,
        clock: IterationClock,
    ) -> None:
        self._all = checked_table(requests, prompts, settings)
        self.settings, self.clock = settings, clock
        self._offers = Offers(self._all)
        tree = FastRadixTree(settings.page_size, settings.policy) if settings.radix else None
        self.pool = Pool(settings, tree)
        self.ratio = NewTokens(settings.conservativeness)
        self.now = 0.0
        self.arrived = self.done = self.aborted = 0  # an aborted request is done, too
        self.waiting: deque[Request] = deque()
        self.decoding = Lockstep(settings.page_size, settings.clip)
        self.full = False  # nobody is admitted before a request leaves those who decode
        self.last: Pass | None = None
        self.flying: Pass | None = None  # its tokens are not known yet
        self.chunked: Request | None = None
        self.row: Row | None = None
        self._left = False  # somebody was done in the last step
        self._unsorted = False  # by priority, since somebody joined the queue
        self._touches = Touches(self.pool)

    # ---------------------------------------------------------------------------------- as a worker

    @property
    def all(self) -> list[Request]:
        """Every request of the table, as far as it is now."""
        self.decoding.settled()
        return self._all

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        return not (self.waiting or self.chunked or self.flying or self._in_memory)

    @property
    def running(self) -> Collection[Request]:
        """Who has been admitted and is not done."""
        return [*self.decoding.settled(), *self._joining]

    @property
    def _joining(self) -> list[Request]:
        """Who was prefilled in the last pass and is not done."""
        return [r for r in self.last.prefilled if not r.finished] if self.last else []

    @property
    def _in_memory(self) -> int:
        return len(self.decoding) + len(self._joining)

    @property
    def stuck(self) -> bool:
        """Nothing runs, and whoever waits first has grown past what is ever admitted."""
        if not self.waiting or self._in_memory:
            return False
        return needed_alone(self.waiting[0], self.settings) > self.settings.tokens

    def found(self, index: int) -> int:
        """Tokens of a request's prompt that it would find now; looking changes nothing."""
        return self.pool.found(self._all[index])

    def offer(self, index: int) -> None:
        """Request `index` of the table joins the queue; an idle clock goes on to its arrival."""
        request = self._offers.take(index, self, stuck=self.stuck)
        if self.idle and request.arrival > self.now:
            self.last, self.full, self._left = None, False, False
            self.ratio.reset()
            self.now = request.arrival
        self.waiting.append(request)
        self._unsorted = self.settings.priority_scheduling
        self.arrived += 1

    def advance(self, until: float) -> None:
        """Iterations until the clock is at `until` or later, or the engine is idle or stuck."""
        while self.now < until and not (self.idle or self.stuck):
            if not (self._steady() and self._leap(until)):
                self.step()

    # ------------------------------------------------------------------------------- one iteration

    def step(self) -> dict[str, int]:
        """One iteration; its counts, keyed and ordered as `seen.COUNTS`, and `row`."""
        happened = Happened(running_in=self._in_memory)
        pass_ = self._schedule(happened)
        decoding, mode = self.decoding, pass_.mode if pass_ else Mode.IDLE
        batch = len(happened.admitted) + (pass_.decoded if pass_ else 0)
        held = decoding.slots + sum(request.end for request in happened.admitted)
        in_memory = len(decoding) + len(happened.admitted)
        counts = counts_of(self, happened, batch, in_memory, held)
        running = 0 if mode is Mode.MIXED else len(decoding)  # in the pass instead
        row = row_of(self, happened, mode, batch, running, self.full)
        if pass_:
            prefill = happened.prefill_tokens, happened.prefill_pairs
            self.now += self.clock.duration(held, *prefill)
            pass_.ended_at = self.now
        elif not self.clock.jumps:
            self.now += self.clock.base
        landing = self._landing(pass_)
        if landing:
            self._results(landing, happened)
        elif not (pass_ or self.waiting or self.chunked or decoding):
            self.ratio.reset()
        self.last = pass_
        self.done += len(happened.finished) + len(happened.aborted)
        self.aborted += len(happened.aborted)
        finished = sorted(request.index for request in happened.finished)
        self.row = row._replace(completed=len(finished), finished_ids=finished)
        return counts | {"completed": len(finished), "new_outputs": happened.new_outputs}

    def _landing(self, pass_: Pass | None) -> Pass | None:
        """The pass whose tokens get known in this step."""
        if not self.settings.overlap:
            return pass_
        before, self.flying = self.flying, pass_
        return before

    # ---------------------------------------------------------------------------- many iterations

    def _steady(self) -> bool:
        """Whether the next step is a decode pass in which nobody joins, leaves or is tried."""
        if self.chunked or self._left or not self.decoding or (self.waiting and not self.full):
            return False
        if self.settings.overlap:
            return self.flying is not None and self.flying.mode is Mode.DECODE
        return self.last is None or self.last.mode is Mode.DECODE

    def _leap(self, until: float) -> bool:
        """Such steps one after the other, while memory is there and nobody is done; whether any."""
        decoding, pool, page = self.decoding, self.pool, self.settings.page_size
        last, began = self.flying or Pass(Mode.DECODE, decoded=len(decoding)), self.now
        while self.now < until and decoding.nobody_due:
            if pool.available < len(decoding) * page:
                break
            self.ratio.sink()
            pool.available -= decoding.pages_needed * page
            decoding.launch()
            ended_before = last.ended_at
            self.now += self.clock.duration(decoding.slots, 0)
            last.ended_at = self.now
            decoding.land(ended_before if self.settings.overlap else self.now)
            self.last = last
        return self.now > began

    # --------------------------------------------------------------------------------- schedule

    def _schedule(self, happened: Happened) -> Pass | None:
        """The next pass; None: an idle one."""
        if self.chunked and self.chunked.end > self.chunked.prefix:
            self._keep(self.chunked)
        if self.last and self.last.prefilled:
            self._join(self.last)
        if self._left:
            self.full = self._left = False
        return self._prefill(happened) or self._decode(happened)

    def _join(self, last: Pass) -> None:
        """Who was prefilled decodes from now on; in a mixed pass they come before the others."""
        away = (self.chunked, last.chunked)
        joining = [r for r in last.prefilled if not (r.finished or r in away)]
        mixed = last.mode is Mode.MIXED
        if len(joining) < len(last.prefilled) or mixed or (joining and not self.decoding):
            self.full = False
        self.decoding.join(joining, in_front=mixed)

    # ---------------------------------------------------------------------------------- prefill

    def _prefill(self, happened: Happened) -> Pass | None:
        """A pass of those who can be admitted; None: there is nobody."""
        if not self.decoding:
            self.full = False
        if not self.chunked:
            if self.full or not self.waiting:
                return None
            if self._places() <= 0:
                self.full = True
                return None
        if self._unsorted:
            self.waiting, self._unsorted = most_urgent_first(self.waiting), False
        self._touches.attempt(self.waiting)
        going_on, admission = self.chunked, self._admission()
        self.chunked, self.full = admission.fill(self.waiting, going_on, self.full)
        admitted = admission.admitted
        if not admitted:
            return None
        happened.going_on = going_on
        enter(self.pool, admitted, happened, self.now)
        pass_ = Pass(Mode.PREFILL, admitted, self.chunked)
        if self.settings.mixed and self.decoding:
            self._mix(pass_)
        return pass_

    def _admission(self) -> Admission:
        settings, decoding = self.settings, self.decoding
        ratio = 1.0 if settings.reserves_in_full else self.ratio.now
        beside = len(decoding) if settings.mixed else 0
        reserved = Estimated(
            beside,
            decoding.may_emit,
            ratio,
            lambda: beside + shares(decoding.settled(), settings.clip, ratio),
        )
        return Admission(settings, self.pool, reserved, len(decoding), decoding.settled)

    def _places(self) -> int:
        return self.settings.max_running - len(self.decoding)

    def _mix(self, pass_: Pass) -> None:
        """Who decodes joins the pass, unless memory is short for that."""
        self._part(self._ending())
        if self.decoding and self._fits():
            self._next_tokens()
            pass_.mode, pass_.decoded = Mode.MIXED, len(self.decoding)

    # ----------------------------------------------------------------------------------- decode

    def _decode(self, happened: Happened) -> Pass | None:
        """One more token of each; None: nobody decodes now."""
        decoding, before = self.decoding, len(self.decoding)
        ending = self._ending()
        self._part(ending)
        if not decoding:
            self.full = False
            return None
        fits = self._fits()
        if ending and not fits:  # the memory of those who are ending is free in the next step
            return None
        if fits:
            self.ratio.sink()
        else:
            self._retract(happened)
        if len(decoding) < before:
            self.full = False
        if not decoding:
            return None
        self._next_tokens()
        return Pass(Mode.DECODE, decoded=len(decoding))

    def _ending(self) -> list[Request]:
        """Who has its last token in flight, by the number that it asked for."""
        if not self.flying:
            return []
        ending = []
        if self.flying.decoded:
            due = self.decoding.due_next()
            ending = [r for r in due if r.output_length == r.max_output]
        for request in self.flying.prefilled:
            if request in self.decoding.members and request.outputs + 1 >= request.max_output:
                ending.append(request)
        return ending

    def _part(self, ending: Collection[Request]) -> None:
        """They decode no more, and are not done before their last token is known."""
        for request in ending:
            self.decoding.leave(request)
            self.full = False

    def _fits(self) -> bool:
        """Whether each can get one more token; what nobody uses of the tree goes for it."""
        return self.pool.make_room(self.decoding.pages_needed * self.settings.page_size)

    def _next_tokens(self) -> None:
        """Places for them. In pages the source makes room for a page each."""
        decoding, page = self.decoding, self.settings.page_size
        self.pool.make_room(len(decoding) * page)
        self.pool.available -= decoding.pages_needed * page
        decoding.launch()

    def _retract(self, happened: Happened) -> None:
        """Who goes first, goes to the tail of the queue, one at a time, until all fits."""
        decoding, by_priority = self.decoding, self.settings.retraction == "priority"
        left = last_goes_first(decoding.settled(), by_priority=by_priority)
        decoding.reorder(left)
        while len(left) > 1 and not (happened.retracted and self._fits()):
            happened.retracted.append(left.pop())
            self._release(happened.retracted[-1])
        if len(left) == 1 and not self._fits():
            happened.aborted.append(left.pop())
            self._release(happened.aborted[-1])
            happened.aborted[-1].aborted = True
        self.ratio.estimate(left)
        for request in happened.retracted:
            request.halt(self.now)
        self.waiting.extend(happened.retracted)
        self._unsorted = self.settings.priority_scheduling

    def _release(self, request: Request) -> None:
        """Nothing of it enters the tree. Room is made for some passes of those who are left."""
        self.decoding.leave(request)
        request.highest = max(request.highest, request.slots)
        request.retracted, request.middle_chunks, request.due = True, 0, NOT_YET
        self.pool.free_request(request)
        self.pool.make_room(len(self.decoding) * RETRACT_STEPS)

    # ---------------------------------------------------------------------------------- results

    def _results(self, landing: Pass, happened: Happened) -> None:
        """Who was retracted meanwhile loses its token."""
        decoding, now = self.decoding, landing.ended_at
        if landing.decoded:
            happened.new_outputs += decoding.land(now)
        for request in landing.prefilled:
            if request.middle_chunks:
                request.middle_chunks -= 1
            elif not request.retracted:
                self._first_token(request, now, happened)
        if landing.decoded:
            for request in decoding.due():
                if request in decoding.members:
                    self._left = True
                    decoding.leave(request)
                else:  # parted before
                    request.emit(now)
                    happened.new_outputs += 1
                self._finish(request, happened)

    def _first_token(self, request: Request, now: float, happened: Happened) -> None:
        happened.new_outputs += 1
        if request.outputs + 1 < request.output_length:
            self.decoding.first_known(request, now)
            self._keep(request)
            return
        if request in self.decoding.members:
            self._left = True
            self.decoding.leave(request)
        request.emit(now)
        self._finish(request, happened)

    def _finish(self, request: Request, happened: Happened) -> None:
        request.finished, request.due = True, NOT_YET
        happened.finished.append(request)
        self.pool.store(request, min(request.slots, request.length))
        self.pool.free_request(request)

    def _keep(self, request: Request) -> None:
        """What it has computed enters the tree; it runs on."""
        self.pool.store(request, request.end)
        request.prefix = request.end
