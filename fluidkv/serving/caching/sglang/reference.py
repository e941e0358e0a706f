"""SGLang's scheduler, literally: requests as objects, lists, one tree. Slow on purpose.

This is the meaning of `fast.FastSglang`, which equals it step by step, and the page to compare with
SGLang's source. A step is one pass of the model, or an idle one:

    schedule   who was prefilled joins the decode batch; then a prefill pass if anybody can be
               admitted, else a decode pass, for which requests are retracted until it fits
    run        the clock goes on
    results    tokens are there; who is done leaves, and its tokens enter the tree

With `overlap` the results are those of the pass before, so that a pass is scheduled without them.
"""

from collections import deque
from collections.abc import Collection

from fluidkv.prefix.prompts import Prompts
from fluidkv.prefix.radix.reference import RadixTree
from fluidkv.prefix.radix.values import Tree
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.sglang.admission import Admission, Reserved
from fluidkv.serving.caching.sglang.entering import Touches, enter
from fluidkv.serving.caching.sglang.pool import Pool
from fluidkv.serving.caching.sglang.ratio import NewTokens
from fluidkv.serving.caching.sglang.seen import Happened, Row, counts_of, row_of
from fluidkv.serving.caching.sglang.state import (
    Batch,
    Mode,
    Request,
    last_goes_first,
    most_urgent_first,
)
from fluidkv.serving.caching.sglang.table import checked_table, needed_alone
from fluidkv.serving.caching.worker import Offers
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.sglang_settings import RETRACT_STEPS, SglangSettings


class SglangEngine:
    """One server. `step` does one iteration.

    Args:
        requests, prompts: the table, of which it serves those that it is offered; prompts None:
            nobody shares anything.
        settings: the server's options.
        clock: how long a pass lasts.
        tree: the prefix tree to use, empty; None: the literal one.

    Raises:
        InputError: prompts of other lengths than the requests; requests that are too long for this
            memory; with `ignore_eos`, one that does not emit all that is asked for.

    Examples:
        >>> from fluidkv.prefix import Prompts
        >>> from fluidkv.serving import SglangEngine, SglangSettings
        >>> alike = Prompts([[(0, 0, 12)], [(0, 0, 12)]], [[(1, 0, 2)], [(2, 0, 2)]])
        >>> requests, clock = fk.Requests([12, 12], [2, 2]), fk.IterationClock(1.0)
        >>> server = SglangEngine(requests, alike, SglangSettings(40), clock)
        >>> server.offer(0)
        >>> server.step()["tokens"], server.row.mode
        (12, 'prefill')
        >>> server.advance(until=5.0)
        >>> server.found(1), server.now
        (11, 2.0)
    """

    def __init__(
        self,
        requests: Requests,
        prompts: Prompts | None,
        settings: SglangSettings,
        clock: IterationClock,
        tree: Tree | None = None,
    ) -> None:
        self.all = checked_table(requests, prompts, settings)
        self.settings, self.clock = settings, clock
        self._offers = Offers(self.all)
        if settings.radix and tree is None:
            tree = RadixTree(settings.page_size, settings.policy)
        self.pool = Pool(settings, tree if settings.radix else None)
        self.ratio = NewTokens(settings.conservativeness)
        self.now = 0.0
        self.arrived = self.done = self.aborted = 0  # an aborted request is done, too
        self.waiting: deque[Request] = deque()
        self.decoding = Batch([])
        self.last: Batch | None = None
        self.in_flight: deque[Batch] = deque()  # passes whose tokens are not known yet
        self.chunked: Request | None = None
        self._touches = Touches(self.pool)
        self.row: Row | None = None  # of the last step

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        return not (self.waiting or self.chunked or self.in_flight or self.running)

    @property
    def running(self) -> list[Request]:
        """Who has been admitted and is not done."""
        joining = self.last.requests if self.last and self.last.mode.extends else []
        everybody = dict.fromkeys([*self.decoding.requests, *joining])
        return [r for r in everybody if not (r.finished or r.retracted)]

    @property
    def new_token_ratio(self) -> float:
        """The share of what may still be emitted that is reserved."""
        return self.ratio.now

    @property
    def stuck(self) -> bool:
        """Nothing runs, and whoever waits first has grown past what is ever admitted."""
        if not self.waiting or self.running:
            return False
        return needed_alone(self.waiting[0], self.settings) > self.settings.tokens

    def found(self, index: int) -> int:
        """Tokens of a request's prompt that it would find now; looking changes nothing."""
        return self.pool.found(self.all[index])

    def offer(self, index: int) -> None:
        """Request `index` of the table joins the queue; an idle clock goes on to its arrival."""
        request = self._offers.take(index, self, stuck=self.stuck)
        if self.idle and request.arrival > self.now:
            self._rest()
            self.now = request.arrival
        self.waiting.append(request)
        self.arrived += 1

    def step(self) -> dict[str, int]:
        """One iteration; its counts, as `reference.COUNTS`, and `row` for more of it."""
        happened = Happened(running_in=len(self.running))
        batch = self._schedule(happened)
        in_memory = dict.fromkeys([*self.decoding.requests, *(batch.requests if batch else ())])
        size = len(batch.requests) if batch else 0
        held = sum(request.slots for request in in_memory)
        counts = counts_of(self, happened, size, len(in_memory), held)
        mode, decoding = (batch.mode if batch else Mode.IDLE), self.decoding
        row = row_of(self, happened, mode, size, len(decoding.requests), decoding.full)
        self._run(batch, held, happened)
        if not self.settings.overlap:
            self.in_flight.extend([batch.copy()] if batch else [])
            self._results_or_rest(happened, batch is None)
        else:
            known = self.last is not None
            self.in_flight.extend([batch.copy()] if batch else [])
            if known or batch is None:
                self._results_or_rest(happened, not known)
        self.last = batch
        self.done += len(happened.finished) + len(happened.aborted)
        self.aborted += len(happened.aborted)
        finished = sorted(request.index for request in happened.finished)
        self.row = row._replace(completed=len(finished), finished_ids=finished)
        return counts | {"completed": len(finished), "new_outputs": happened.new_outputs}

    def advance(self, until: float) -> None:
        """Iterations until the clock is at `until` or later, or the engine is idle or stuck."""
        while self.now < until and not (self.idle or self.stuck):
            self.step()

    # --------------------------------------------------------------------------------- schedule

    def _schedule(self, happened: Happened) -> Batch | None:
        """The next pass; None: an idle one."""
        if self.chunked and self.chunked.end > self.chunked.prefix:
            self._keep(self.chunked)
        if self.last and self.last.mode.extends:
            self._join(self.last)
        if self.decoding.keep():
            self.decoding.full = False
        return self._prefill(happened) or self._decode(happened)

    def _join(self, last: Batch) -> None:
        """Who was prefilled decodes from now on. The flag is that of the batch that stays."""
        if last.keep(without=(self.chunked, last.chunked)):
            self.decoding.full = False
        if not last.requests:
            return
        if self.decoding.requests:
            self.decoding.requests += last.requests
        else:
            self.decoding = last

    # ---------------------------------------------------------------------------------- prefill

    def _prefill(self, happened: Happened) -> Batch | None:
        """A pass of those who can be admitted; None: there is nobody."""
        decoding = self.decoding
        if not decoding.requests:
            decoding.full = False
        if not self.chunked:
            if decoding.full or not self.waiting:
                return None
            if self._places() <= 0:
                decoding.full = True
                return None
        if self.settings.priority_scheduling:
            self.waiting = most_urgent_first(self.waiting)
        self._touches.attempt(self.waiting)
        going_on, admission = self.chunked, self._admission()
        self.chunked, decoding.full = admission.fill(self.waiting, going_on, decoding.full)
        admitted = admission.admitted
        if not admitted:
            return None
        happened.going_on = going_on
        enter(self.pool, admitted, happened, self.now)
        batch = Batch(admitted, Mode.PREFILL, chunked=self.chunked)
        if self.settings.mixed and decoding.requests:
            self._mix(batch)
        return batch

    def _admission(self) -> Admission:
        settings, decoding = self.settings, self.decoding.requests
        ratio = 1.0 if settings.reserves_in_full else self.ratio.now
        beside = len(decoding) if settings.mixed else 0
        reserved = Reserved(beside, decoding, settings.clip, ratio)
        return Admission(settings, self.pool, reserved, decoding)

    def _places(self) -> int:
        return self.settings.max_running - len(self.decoding.requests)

    def _mix(self, batch: Batch) -> None:
        """Who decodes joins the pass, unless memory is short for that."""
        decoding, ending = self.decoding, self._ending()
        if decoding.keep(without=ending):
            decoding.full = False
        if decoding.requests and self._fits(decoding.requests):
            self._next_tokens(decoding.requests)
            batch.decoding = tuple(decoding.requests)
            batch.requests = batch.requests + decoding.requests
            batch.mode = Mode.MIXED
            self.decoding = Batch([], full=decoding.full)

    # ----------------------------------------------------------------------------------- decode

    def _decode(self, happened: Happened) -> Batch | None:
        """One more token of each; None: nobody decodes now."""
        batch, before = self.decoding, len(self.decoding.requests)
        ending = self._ending()
        batch.keep(without=ending)
        if not batch.requests:
            batch.full = False
            return None
        fits = self._fits(batch.requests)
        if ending and not fits:  # the memory of those who are ending is free in the next step
            batch.full = False
            return None
        if fits:
            self.ratio.sink()
        else:
            self._retract(happened)
        if len(batch.requests) < before:
            batch.full = False
        if not batch.requests:
            return None
        self._next_tokens(batch.requests)
        batch.mode = Mode.DECODE
        return batch

    def _ending(self) -> set[Request]:
        """Who has its last token in flight, by the number that it asked for."""
        if not (self.settings.overlap and self.in_flight):
            return set()
        flying = set(self.in_flight[0].requests)
        return {r for r in self.decoding.requests if r in flying and r.outputs + 1 >= r.max_output}

    def _fits(self, requests: Collection[Request]) -> bool:
        """Whether each can get one more token; what nobody uses of the tree goes for it."""
        page = self.settings.page_size
        return self.pool.make_room(page * sum(r.slots % page == 0 for r in requests))

    def _next_tokens(self, requests: Collection[Request]) -> None:
        """Places for them. In pages the source makes room for a page each."""
        self.pool.make_room(len(requests) * self.settings.page_size)
        for request in requests:
            self.pool.grow(request, request.slots + 1)

    def _retract(self, happened: Happened) -> None:
        """Who goes first, goes to the tail of the queue, one at a time, until all fits.

        At least one goes, and one stays: if it does not fit alone, it is aborted. Who stays is in
        the order of retraction from now on.
        """
        by_priority = self.settings.retraction == "priority"
        left = last_goes_first(self.decoding.requests, by_priority=by_priority)
        while len(left) > 1 and not (happened.retracted and self._fits(left)):
            happened.retracted.append(left.pop())
            self._release(happened.retracted[-1], len(left))
        if len(left) == 1 and not self._fits(left):
            happened.aborted.append(left.pop())
            self._release(happened.aborted[-1], 0)
            happened.aborted[-1].aborted = True
        self.decoding.requests = left
        self.ratio.estimate(left)
        for request in happened.retracted:
            request.halt(self.now)
        self.waiting.extend(happened.retracted)

    def _release(self, request: Request, left: int) -> None:
        """Nothing of it enters the tree. Room is made for some passes of those who are left."""
        request.highest = max(request.highest, request.slots)
        self.pool.free_request(request)
        self.pool.make_room(left * RETRACT_STEPS)
        request.retracted, request.middle_chunks = True, 0

    # ---------------------------------------------------------------------------------- results

    def _results_or_rest(self, happened: Happened, resting: bool) -> None:
        """The tokens of the oldest pass in flight; or nothing at all goes on."""
        if not resting:
            self._results(self.in_flight.popleft(), happened)
        elif not (self.waiting or self.chunked or self.in_flight or self.decoding.requests):
            self.ratio.reset()

    def _results(self, batch: Batch, happened: Happened) -> None:
        """Who was retracted meanwhile loses its token."""
        for request in batch.requests:
            if request.middle_chunks:
                request.middle_chunks -= 1
                continue
            if request.finished or request.retracted:
                continue
            request.emit(batch.ended_at)
            happened.new_outputs += 1
            if request.outputs == request.output_length:
                request.finished = True
                happened.finished.append(request)
                self.pool.store(request, min(request.slots, request.length))
                self.pool.free_request(request)
            elif batch.mode.extends and request not in batch.decoding:
                self._keep(request)

    def _keep(self, request: Request) -> None:
        """What it has computed enters the tree; it runs on."""
        self.pool.store(request, request.end)
        request.prefix = request.end

    # ------------------------------------------------------------------------------------ clock

    def _run(self, batch: Batch | None, held: int, happened: Happened) -> None:
        """A pass lasts what it costs; an idle one nothing, or a tick of the theory's clock."""
        if batch:
            prefill = happened.prefill_tokens, happened.prefill_pairs
            self.now += self.clock.duration(held, *prefill)
            batch.ended_at = self.now
        elif not self.clock.jumps:
            self.now += self.clock.base

    def _rest(self) -> None:
        """The steps that a server without requests makes until somebody comes."""
        self._schedule(Happened())
        self.last = None
        self.ratio.reset()
